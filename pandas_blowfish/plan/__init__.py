"""What will be measured, what it costs and how wrong it will be: never sees rows, noise or a budget.

Two protocols carry everything: a `Question` knows which strategies can answer it, a `Strategy` which integer
query rows are measured with which noise, and how noisy values become answers. Read protocol (the two), tally
(counts of cells in bins), sensitivity (how one edge changes them), scales (noise and its law), price (what
public facts cost), choose (the candidate of least error), plan (what an analyst sees), goal (accuracy first);
then one family: line, tables, linear, totals or clusters, each with question, sensitivity, one file per
strategy, and solve. shape holds what all of them share to give answers their shape.
"""
