"""What will be measured and how wrong it will be. Never sees rows."""
