"""For tests only: noise that can be replayed, marked as such in every receipt.

A release made under `replay` carries "TEST ONLY" and cannot be charged to a file ledger.
"""

from pandas_blowfish.kernel.noise import replay

__all__ = ["replay"]
