"""Real TBoxes: that they go through, how fast, and what comes out."""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from shiq.model import TBox
from shiq.model.clause import Clause
from shiq.model.roles import Role
from shiq.simplify import SimplifiedTBox, simplify
from shiq.simplify.describe import describe_tbox
from tests.time_limits import calls_of

DATA = Path(__file__).resolve().parents[2] / os.environ.get("SHIQ_DATA", "../shared/data")
LUBM = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
UOBM = "http://semantics.crl.ibm.com/univ-bench-dl.owl#"


@cache
def tbox_of(name: str) -> TBox:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there (set SHIQ_DATA)")
    try:
        from shiq.rdf import read_ontology
    except ImportError:
        pytest.skip("no RDF reader")
    return read_ontology([str(path)]).tbox


def simplified_of(name: str) -> SimplifiedTBox:
    """The TBox of a file, simplified. An axiom outside SHIQ(D) would fail the test: the reader
    keeps those apart.
    """
    return simplify(tbox_of(name))


def kinds(clauses: tuple[Clause, ...]) -> Counter[str]:
    return Counter(clause.kind for clause in clauses)


@pytest.mark.parametrize(
    "name",
    [
        "lubm/univ-bench.owl",
        "uobm/univ-bench-dl.owl",
        "npd/npd-v2-complete.fixed.owl",
        "npd/npd-v2.paper.owl",
    ],
)
def test_a_real_tbox_is_simplified_in_no_time(name: str) -> None:
    tbox = tbox_of(name)
    assert calls_of(lambda: simplify(tbox)) < 400 * len(tbox.axioms)
    assert describe_tbox(simplify(tbox))["axioms"] == len(tbox.axioms)


def test_lubm_cannot_be_contradicted_by_positive_assertions() -> None:
    simplified = simplified_of("lubm/univ-bench.owl")
    assert all(clause.head or clause.branch_head for clause in simplified.clauses.clauses)
    assert not simplified.at_mosts
    assert not simplified.clauses.fresh
    assert (
        Clause((), (LUBM + "Person",), Role(LUBM + "takesCourse")) not in simplified.clauses.clauses
    )
    chair = next(c for c in simplified.clauses.clauses if LUBM + "Chair" in c.head)
    assert (chair.body, chair.role, chair.branch_body) == (
        (LUBM + "Person",),
        Role(LUBM + "headOf"),
        (LUBM + "Department",),
    )
    assert simplified.features <= {
        LUBM + p
        for p in (
            "age",
            "emailAddress",
            "name",
            "officeNumber",
            "researchInterest",
            "telephone",
            "title",
        )
    }


def test_lubm_eliminates_its_transitive_role() -> None:
    """subOrganizationOf is transitive; nothing in LUBM restricts it but a domain and a range,
    which need nothing.
    """
    simplified = simplified_of("lubm/univ-bench.owl")
    suborganization = Role(LUBM + "subOrganizationOf")
    assert suborganization in simplified.clauses.roles.transitive
    assert not any("transitivity" in name for name in simplified.definition4_clauses.fresh)


def test_uobm_has_its_number_restrictions() -> None:
    simplified = simplified_of("uobm/univ-bench-dl.owl")
    counted = {(c.body, c.at_most, c.role) for c in simplified.clauses.clauses if c.at_most}
    assert counted == {
        ((UOBM + "LeisureStudent",), 3, Role(UOBM + "takesCourse")),
        ((), 2, Role(UOBM + "like")),
        ((), 1, Role(UOBM + "isHeadOf", True)),
        ((), 1, Role(UOBM + "isTaughtBy")),
    }
    assert len(simplified.at_mosts) == 4
    assert kinds(simplified.clauses.clauses)["u"] > 50


def test_npd_is_all_but_horn() -> None:
    simplified = simplified_of("npd/npd-v2-complete.fixed.owl")
    assert not simplified.clauses.fresh
    assert kinds(simplified.clauses.clauses)["m"] == 1
    assert len(simplified.features) > 200
