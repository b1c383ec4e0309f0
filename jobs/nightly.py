"""The nightly job: ``spark-submit jobs/nightly.py [check|gate|index] --store kg/ …``

It is that command of ``shiq`` with ``--engine spark``: the same options, exit codes and JSON,
for where spark-submit starts the program. Without a command it is ``check``. The JSON file is
written last and in one step: it tells the whole answer, or is not there. In cluster mode, where
no exit code comes back, it is what to look at. ``evidence.run`` in that of a check names the run
by its content: the store's snapshot, the batch, the criterion.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: What it runs; the first where none is named.
COMMANDS = ("check", "gate", "index")


def shiq_arguments(given: list[str]) -> list[str]:
    """Convert the arguments of this job to a command line of ``shiq`` on Spark. Raises: SystemExit
    for a command that is none of `COMMANDS`.
    """
    command, *options = given if given and not given[0].startswith("-") else [COMMANDS[0], *given]
    if command not in COMMANDS:
        print(
            f"shiq: nightly.py has no command {command!r}\n"
            f"  Name one of {', '.join(COMMANDS)}, or begin with the options of a check: "
            "spark-submit jobs/nightly.py check --store kg/ --insert tonight.nt",
            file=sys.stderr,
        )
        raise SystemExit(2)
    return [command, "--engine", "spark", *options]


def main(given: list[str] | None = None) -> None:
    """Run the command and exit with its code."""
    from shiq.jobs.cli import main as run

    run(shiq_arguments(sys.argv[1:] if given is None else given))


def _make_importable() -> None:
    """Make the package `shiq` importable when spark-submit runs this file: put the parent folder on
    the path, here and in local executors.
    """
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != here]
    if here.name == "jobs" and (here.parent / "shiq").is_dir():
        sys.path.insert(0, str(here.parent))
        known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if str(here.parent) not in known:
            os.environ["PYTHONPATH"] = os.pathsep.join([str(here.parent), *filter(None, known)])


if __name__ == "__main__":
    _make_importable()
    main()
