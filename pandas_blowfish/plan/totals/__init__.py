"""Sums and means of columns, with noise in proportion to what one edge can change. Never sees rows.

Read `question.py` (what can be asked), `sums.py` (the usual strategy), `sensitivity.py` (how far an edge
moves a total), `sum_boxes.py` (which totals draw their noise together), `law.py` (how it is distributed),
then `solve.py` (answers, their errors and intervals). `clipped.py` finds closer bounds first, by the counts
of `tail_counts.py`. `people.py` counts people, once each.
"""
