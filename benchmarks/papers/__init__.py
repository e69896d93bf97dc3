"""The experiments of the two Blowfish papers, one module a figure or table; see ../reproduce.py."""
