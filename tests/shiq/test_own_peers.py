"""The reasoner `own` on small ontologies that other reasoners get wrong, whole: axioms,
assertions, no criterion.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shiq import check_insertions
from shiq.answers.verdict import Verdict
from shiq.functional import parse_functional
from shiq.model.abox import abox_of

PEERS = Path(__file__).resolve().parents[2] / os.environ.get("SHIQ_PEERS", "../shared/peers")
FILES = sorted(
    str(path.relative_to(PEERS))
    for path in PEERS.glob("cases/**/*.ofn")
    if not path.stem.endswith("_add")
)

#: Bases that are cases by themselves: their unions with the insertions are there too, as _all.
ALONE = {"k0", "k1", "k2"}

#: Found with HermiT from scratch, which is said to be right on all of these.
INCONSISTENT = {
    "k0_all",
    "k1_all",
    "k316_all",
    "k388_all",
    "k701_all",
    "k992_all",
    "k382",
    "k551",
    "k876",
}


def verdict_of(name: str, reasoner: str) -> Verdict:
    """The consistency of a case; where its insertions are in a file of their own, with these."""
    path = PEERS / name
    base = parse_functional(path.read_text(), name, "base")
    assertions = list(base.abox)
    if path.stem not in ALONE:
        added = path.with_name(f"{path.stem}_add.ofn")
        assertions += (
            parse_functional(added.read_text(), added.name, "added").abox if added.exists() else ()
        )
    return check_insertions(
        base.tbox, None, abox_of(assertions), criterion="none", engine="local", reasoner=reasoner
    ).verdict


@pytest.mark.skipif(not FILES, reason=f"no cases at {PEERS}; set SHIQ_PEERS")
@pytest.mark.parametrize("name", FILES)
def test_a_case_that_others_get_wrong(name: str) -> None:
    expected = Verdict.INCONSISTENT if Path(name).stem in INCONSISTENT else Verdict.CONSISTENT
    assert verdict_of(name, "own") is expected


@pytest.mark.jvm
@pytest.mark.skipif(not FILES, reason=f"no cases at {PEERS}; set SHIQ_PEERS")
@pytest.mark.parametrize("name", FILES)
def test_hermit_says_so_too(name: str) -> None:
    expected = Verdict.INCONSISTENT if Path(name).stem in INCONSISTENT else Verdict.CONSISTENT
    assert verdict_of(name, "hermit") is expected
