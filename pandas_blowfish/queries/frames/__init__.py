"""What happens to a frame around a verb: unprotected, protected, released.

Frames are handed on whole: `count` and `kernel` read their rows, `free` sees released frames only.

Read in the order a frame takes: `curate` (draft a schema, check the rows), `protect` (bind them to a policy,
a budget and a name), `answer` (measure a plan and write the receipt), `free` (more questions to a release).
"""
