"""Random documents, read by three readers: no difference without an explanation; and faults that
are planted show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shiq.rdf import terms as iris
from shiq.rdf import turtle
from shiq.rdf import xml_grammar as grammar
from tests.readers_random import compare_turtle, compare_xml, differences


@pytest.mark.parametrize("first", [0, 15, 30])
def test_random_documents_are_read_alike(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 15):
        assert differences(seed, tmp_path)[0] == []


@pytest.mark.slow
def test_very_many_random_documents_are_read_alike(tmp_path: Path) -> None:
    for seed in range(1_000, 1_500):
        assert differences(seed, tmp_path)[0] == []


def _kept(meaning: Any, directive: bytes) -> Any:
    return meaning


def _pass_over(self: Any, kind: str, frame: Any) -> None:
    frame.kind, frame.node = grammar._ElementKind.NODE, self._fresh_blank_node()


@pytest.mark.parametrize(
    ("owner", "name", "fault", "compare"),
    [
        (turtle._NameContext, "drop_binding", _kept, compare_turtle),
        (grammar.RdfXmlGrammar, "_language", lambda self, tag: "en", compare_xml),
        (grammar.RdfXmlGrammar, "_apply_parse_type", _pass_over, compare_xml),
        (
            grammar.RdfXmlGrammar,
            "_resolve_id",
            lambda self, name, base: self._resolve_iri("#" + name, base),
            compare_xml,
        ),
        (iris, "_remove_dot_segments", lambda path: path, compare_xml),
    ],
)
def test_a_planted_fault_shows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    fault: Any,
    compare: Callable[..., Any],
) -> None:
    monkeypatch.setattr(owner, name, fault)
    assert any(list(compare(seed, tmp_path, Counter())) for seed in range(100))
