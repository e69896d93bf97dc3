"""Centres and sizes of k clusters, from noisy counts of a space (a synopsis). Never sees rows.

Read `question.py`, `space.py` and `synopsis.py` first, then one synopsis (`grid.py`) from what it measures to
its `solve`, which uses `smooth.py`, `centres.py` and `solve.py`. `sensitivity.py` bounds soft bins,
`resolution.py` chooses how fine a synopsis is, `known.py` holds the numbers of rows that no edge changes.
"""
