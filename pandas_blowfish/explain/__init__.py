"""Says it in words and pictures: never sees rows."""
