"""What the world knows: public counts, and how far apart neighbouring tables are that agree with them.

Promises a bound on the records that two neighbours differ in, given what is public. Never sees rows: a
known answer is what the policy states, or it is left open.

Read `declared` (the facts as a user states them), `fact` (read against a domain) and `consistent` (can all
be true), then `touched` (does an edge change one), `signature`, `constraint_graph` and `move_bound` (how
many records move together). `later` is about facts that become public after releases were made.
"""
