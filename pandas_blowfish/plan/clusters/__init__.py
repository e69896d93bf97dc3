"""Centres and sizes of k clusters, from noisy counts of a space (a synopsis). Never sees rows.

Read `question.py`, `space.py` and `synopsis.py` first, then one synopsis (`grid.py`) and `solve.py`, which
turns noisy counts into centres with `centres.py` and `smooth.py`. `sensitivity.py` bounds soft bins,
`resolution.py` chooses how fine a synopsis is, `known.py` holds the numbers of rows that no edge changes.
"""
