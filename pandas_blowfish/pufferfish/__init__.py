"""Pufferfish: what someone with given beliefs may learn from a release. Never sees rows."""
