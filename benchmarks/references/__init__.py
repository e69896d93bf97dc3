"""The best known mechanisms, each written down once more: what `best_known.py` compares with.

Nothing here is imported by the library, and nothing here imports it. Each file checks itself by counting
every point of a small case: `check()`. Read `balls.py` first.
"""
