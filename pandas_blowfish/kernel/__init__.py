"""The only code that sees rows, randomness or budget: the whole audit surface."""
