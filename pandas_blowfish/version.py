"""The version of the library, readable without importing anything else."""

__version__ = "0.2.0.dev0"
