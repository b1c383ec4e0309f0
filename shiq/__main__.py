"""The command ``shiq``, also as ``python -m shiq``."""

from __future__ import annotations

from importlib import import_module


def main() -> None:
    """Run the command line, and exit."""
    import_module("shiq.jobs.cli").main()


if __name__ == "__main__":
    main()
