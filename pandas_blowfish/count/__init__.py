"""Rows to integers: the only code besides the kernel that reads a frame. No randomness, no budget.

Read encode (values of any storage to cells), place (numbers and instants to cells), tally (frames to counts),
weigh (sums of whole weights), fingerprint and seal (whether rows are still those that were protected), assign
(rows to released centres), probe (made-up records for the check); then readers, one file per kind of table.
"""
