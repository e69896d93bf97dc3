"""What is measured: one file a strategy. Never sees rows."""
