"""beyond."""
