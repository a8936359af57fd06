"""`python -m ascjax`: the same as the command `ascjax`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
