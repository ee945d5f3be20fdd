"""``python -m axfi_kc.cli`` is ``axfi-kc``."""

import sys

from axfi_kc.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
