"""Where the real data is, and the cases that are directories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "data" / "cases"


@pytest.fixture(scope="session")
def data_path() -> Path:
    """The folder with LUBM, UOBM, NPD and the OWL 2 test cases: the setting SHIQ_DATA."""
    path = ROOT / os.environ.get("SHIQ_DATA", "../shared/data")
    if not path.is_dir():
        pytest.skip(f"no test data at {path}; set SHIQ_DATA")
    return path
