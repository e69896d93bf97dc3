"""totals."""
