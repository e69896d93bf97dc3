"""Sums and means of columns, with noise in proportion to what one edge can change. Never sees rows.

Read `question.py` (what can be asked), `sums.py` (the one strategy), `sensitivity.py` (how far an edge moves
a total), then `solve.py` (answers, their errors and intervals). `people.py` counts people, once each.
"""
