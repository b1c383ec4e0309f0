"""Golden pairs: every file in data/passes is named after a pass and holds what goes into it and
what comes out.

A case is a title line ``# …``, axioms in functional-style syntax, ``---``, and what the pass
makes of them in DL notation (an empty list if nothing). In a case whose title begins with
``noop:`` the pass hands on what it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from shiq.functional import parse_functional
from shiq.model import OWL, RDFS, XSD, Axiom, SubClassOf
from shiq.model.roles import role_box
from shiq.simplify.clauses import clausal_tbox
from shiq.simplify.describe import axiom_text, clause_text
from shiq.simplify.desugar import desugar
from shiq.simplify.inclusion import PREFIX, Context, Inclusion, role_origins
from shiq.simplify.nnf import to_nnf
from shiq.simplify.normal_form import normal_form
from shiq.simplify.restrictions import name_restrictions
from shiq.simplify.transitivity import eliminate_transitivity

PASSES = Path(__file__).resolve().parents[2] / "data" / "passes"
PROLOGUE = (
    f"Prefix(:=<urn:t:>) Prefix(owl:=<{OWL}>) Prefix(rdfs:=<{RDFS}>) Prefix(xsd:=<{XSD}>) Ontology("
)


def shortener(prefixes: Mapping[str, str]) -> Callable[[str], str]:
    """Writes an IRI with the longest of ``prefixes`` (prefix → namespace) that fits, or in full."""
    longest_first = sorted(prefixes.items(), key=lambda item: len(item[1]), reverse=True)

    def short(iri: str) -> str:
        for prefix, namespace in longest_first:
            if iri.startswith(namespace):
                return f"{prefix}:{iri[len(namespace) :]}" if prefix else iri[len(namespace) :]
        return iri

    return short


SHORT = shortener({"": "urn:t:", "fresh": PREFIX})

#: What runs before each pass, and the pass itself.
CHAINS: dict[str, tuple[Callable[[list[Inclusion], Context], list[Inclusion]], ...]] = {
    "nnf": (to_nnf,),
    "normal_form": (to_nnf, normal_form),
    "restrictions": (to_nnf, normal_form, name_restrictions),
    "transitivity": (to_nnf, normal_form, eliminate_transitivity),
    "clauses": (to_nnf, normal_form, eliminate_transitivity),
}


@dataclass(frozen=True)
class Case:
    title: str
    axioms: tuple[str, ...]
    expected: tuple[str, ...]

    @property
    def is_noop(self) -> bool:
        return self.title.startswith("noop:")


def cases_of(path: Path) -> list[Case]:
    cases = []
    for block in path.read_text(encoding="utf-8").strip().split("\n# "):
        title, *lines = block.removeprefix("# ").strip().splitlines()
        middle = lines.index("---") if "---" in lines else len(lines)
        cases.append(Case(title, tuple(lines[:middle]), tuple(lines[middle + 1 :])))
    return cases


def axioms_of(case: Case) -> tuple[Axiom, ...]:
    reading = parse_functional(PROLOGUE + "\n".join(case.axioms) + ")", case.title, "t")
    assert not reading.leftovers, reading.leftovers
    assert len(reading.tbox.axioms) == len(case.axioms)
    return reading.tbox.axioms


def context_of(axioms: tuple[Axiom, ...]) -> Context:
    return Context(role_box(axioms), role_origins(axioms))


def after(name: str, case: Case) -> list[str]:
    """What the pass ``name`` makes of ``case``, one line for each inclusion or clause, with its
    origins.
    """
    axioms = axioms_of(case)
    context = context_of(axioms)
    inclusions = desugar(axioms, context)
    for rewrite in CHAINS.get(name, ()):
        inclusions = rewrite(inclusions, context)
    if name == "clauses":
        clauses = clausal_tbox(inclusions, context, axioms).clauses
        return [f"{clause_text(clause, SHORT)}    {sorted(clause.origins)}" for clause in clauses]
    return [
        f"{axiom_text(SubClassOf(i.sub, i.sup), SHORT)}    {sorted(i.origins)}" for i in inclusions
    ]


ALL = [(path.stem, case) for path in sorted(PASSES.glob("*.txt")) for case in cases_of(path)]


@pytest.mark.parametrize(
    ("name", "case"), [c for c in ALL if not c[1].is_noop], ids=lambda v: getattr(v, "title", v)
)
def test_rewrite(name: str, case: Case) -> None:
    assert after(name, case) == list(case.expected)


@pytest.mark.parametrize(
    ("name", "case"), [c for c in ALL if c[1].is_noop], ids=lambda v: getattr(v, "title", v)
)
def test_noop(name: str, case: Case) -> None:
    axioms = axioms_of(case)
    context = context_of(axioms)
    if name == "desugar":
        assert [SubClassOf(i.sub, i.sup) for i in desugar(axioms, context)] == list(axioms)
        return
    before = desugar(axioms, context)
    *earlier, rewrite = CHAINS[name]
    for previous in earlier:
        before = previous(before, context)
    assert rewrite(before, context) == before


def test_every_pass_has_its_cases() -> None:
    assert {name for name, _ in ALL} == {"desugar", *CHAINS}
    assert {name for name, case in ALL if case.is_noop} == {"desugar", *CHAINS} - {"clauses"}
