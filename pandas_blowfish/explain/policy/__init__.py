"""Pictures of policies: which values stay indistinguishable, and how far odds can change. Never sees rows."""
