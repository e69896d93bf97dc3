"""Verbs that sum columns up in a few numbers: deviations, correlations, several questions in one charge.

Touches no row itself. Read deviation, then summary.
"""
