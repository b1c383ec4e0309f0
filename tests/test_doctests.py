"""The examples in the product's docstrings run with the tests."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ConfigParser()
SETTINGS.read(ROOT / "setup.cfg")
PACKAGES = [name.rstrip("*") for name in SETTINGS["options.packages.find"]["include"].split()]


def test_every_package_is_searched_for_examples() -> None:
    settings = SETTINGS["tool:pytest"]
    assert {"tests", *PACKAGES} == set(settings["testpaths"].split())
    assert "--doctest-modules" in settings["addopts"].split()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_is_a_package(package: str) -> None:
    """A module of a folder without ``__init__.py`` would be imported by its file's name, beside
    the one that others import.
    """
    folders = {path.parent for path in (ROOT / package).rglob("*.py")}
    assert folders and all((folder / "__init__.py").exists() for folder in folders)
