"""The command ``shiq``, also as ``python -m shiq``."""

from __future__ import annotations

from importlib import import_module


def main() -> None:
    """Runs the command line and exits."""
    import_module("shiq.jobs.cli").main()


if __name__ == "__main__":
    main()
