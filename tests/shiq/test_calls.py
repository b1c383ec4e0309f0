"""The public calls."""

from __future__ import annotations

import inspect

import pytest

from shiq.api import Options, certify, certify_store, check_insertions, index


def test_public_calls_show_their_settings() -> None:
    settings = set(inspect.signature(Options).parameters)
    for call in (check_insertions, certify, certify_store, index):
        assert settings <= set(inspect.signature(call).parameters)
    with pytest.raises(TypeError, match="enginee"):
        certify([], enginee="local")
