"""``python -m intervalguard``: the command line."""

import sys

from intervalguard.edges.cli import main

if __name__ == "__main__":
    sys.exit(main())
