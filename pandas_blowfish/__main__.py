"""python -m pandas_blowfish: the command line, where the script is not on the path."""

from pandas_blowfish.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
