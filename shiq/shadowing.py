"""Packages of others that stand in the way of ours: what they are, before a module that is not
there is missed.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

from shiq.errors import OperationalError

#: The packages that come with this one, beside it.
BESIDE = ("simplify", "abox_ops", "jobs", "streams")
_HOME = Path(__file__).resolve().parent.parent


def refuse_others() -> None:
    """Looks where Python finds the packages that come with shiq. Raises: OperationalError for
    one that is not ours.
    """
    for name in BESIDE:
        found = _found(name)
        if found is None:
            raise OperationalError(
                f"{name}, which comes with shiq, is not in {_HOME}", "Install shiq again."
            )
        if found.resolve() != _HOME / name:
            file = found.with_suffix(".py")
            raise OperationalError(
                f"{file if file.exists() else found} stands in the way of shiq's own package {name}, in {_HOME}",
                f"Rename it, or take {found.parent} off Python's path (PYTHONPATH, or where the program is or was started).",
            )


def _found(name: str) -> Path | None:
    """The folder of the package, or the file of the module without its suffix, that ``import
    name`` gives.
    """
    loaded = sys.modules.get(name)
    spec: ModuleSpec | None = (
        loaded.__spec__ if loaded is not None else importlib.util.find_spec(name)
    )
    if spec is None:
        return None
    places = list(spec.submodule_search_locations or ())
    return Path(places[0]) if places else Path(spec.origin or "").with_suffix("")
