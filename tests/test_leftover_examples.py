"""Each kind of leftover has an example and a remedy in the reference, and the examples give their kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

import shiq
from tests.tools.leftover_examples import EXAMPLES, PREFIXES, TERMS

RUN = [kind for kind, example in EXAMPLES.items() if example.tbox or example.data]


def test_each_kind_has_an_example_and_a_remedy() -> None:
    assert EXAMPLES.keys() == shiq.KINDS.keys()
    assert len(RUN) > 20 and all(x.remedy and x.shown.strip("`") for x in EXAMPLES.values())


@pytest.mark.parametrize("kind", RUN)
def test_the_example_of_a_kind_gives_it(kind: str, tmp_path: Path) -> None:
    example = EXAMPLES[kind]
    ontology, data = tmp_path / "onto.ttl", tmp_path / "data.ttl"
    ontology.write_text(PREFIXES + TERMS + example.tbox, encoding="utf-8")
    data.write_text(PREFIXES + (example.data or ":p1 a :Pump ."), encoding="utf-8")
    found = shiq.lint([ontology], [data])
    assert kind in {x.kind for x in found.leftovers}
