"""Pictures of released frames, each kind in a file of its own: read plot first. Never sees rows."""
