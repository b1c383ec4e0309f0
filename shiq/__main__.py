"""The command ``shiq``, also as ``python -m shiq``: `jobs.cli`, where that is ours."""

from __future__ import annotations

import sys
from importlib import import_module

from shiq.errors import OperationalError
from shiq.shadowing import refuse_others


def main() -> None:
    """Runs the command line and exits."""
    try:
        refuse_others()
    except OperationalError as error:
        print(f"shiq: {error}", file=sys.stderr)
        sys.exit(4)
    import_module("jobs.cli").main()


if __name__ == "__main__":
    main()
