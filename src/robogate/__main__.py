"""`python -m robogate`."""

import sys

from robogate.cli import main

if __name__ == "__main__":
    sys.exit(main())
