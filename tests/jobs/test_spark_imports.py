"""What Spark's workers import stays importable when its finders were let go."""

from __future__ import annotations

import importlib
import sys
import zipfile
import zipimport
from pathlib import Path

import pytest

from shiq.jobs.building.worker import skip_repeated_imports


def test_modules_of_a_zip_file_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "shipped.zip", "w") as file:
        for name, text in {"__init__": "", "first": "value = 1", "second": "value = 2"}.items():
            file.writestr(f"shipped_to_workers/{name}.py", text)
    monkeypatch.syspath_prepend(str(tmp_path / "shipped.zip"))
    assert importlib.import_module("shipped_to_workers.first").value == 1
    assert any(
        isinstance(finder, zipimport.zipimporter) for finder in sys.path_importer_cache.values()
    )
    skip_repeated_imports()
    assert not any(
        isinstance(finder, zipimport.zipimporter) for finder in sys.path_importer_cache.values()
    )
    importlib.invalidate_caches()
    assert importlib.import_module("shipped_to_workers.second").value == 2
