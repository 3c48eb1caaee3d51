"""`python -m xerte` is the command `xerte`."""

from xerte.cli import main

if __name__ == "__main__":
    main()
