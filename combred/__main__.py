"""`python -m combred` is the command `combred`."""

import sys

from combred.command import main

if __name__ == "__main__":
    sys.exit(main())
