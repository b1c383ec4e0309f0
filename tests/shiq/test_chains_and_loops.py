"""Property chains, Self and reflexive roles in every check (THEORY, "Chains and loops")."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq import model as m
from shiq.abox_ops.labels import irrelevance as seen
from shiq.answers.verdict import Verdict
from shiq.api import check_insertions
from shiq.model.abox import abox_of
from shiq.model.clause import AtLeast
from shiq.model.profile import split_axioms
from shiq.model.role_words import RolePaths, WordAutomaton, irregular_chains
from shiq.model.roles import Role, RoleBox, role_box, role_of
from shiq.reasoner.hypertableau import tables
from shiq.simplify import loops, simplify
from shiq.simplify.chains import PathClauses
from shiq.simplify.inclusion import Context, Inclusion
from tests.builders import tbox, triples
from tests.tools.random_ontologies.chains import KINDS, random_chain_kb
from tests.tools.random_ontologies.gadgets import LOOP_GADGETS, PATH_GADGETS, gadget

A, B = m.Class("urn:A"), m.Class("urn:B")
R, S, T, U = (m.ObjectProperty(f"urn:{name}") for name in "rstu")


def verdict(
    axioms: object,
    base: object,
    batch: object,
    criterion: str,
    engine: str = "spec",
    deleted: object = (),
) -> str:
    tbox = axioms if isinstance(axioms, m.TBox) else m.TBox(tuple(axioms))  # type: ignore[arg-type]
    data = [abox_of(part) for part in (base, batch, deleted)]  # type: ignore[arg-type]
    result = check_insertions(
        tbox,
        *data,
        criterion=criterion,
        engine=engine,
        reasoner="own",
        max_conflicts=0,
        allow=["empty-tbox"],
    )
    return f"{result.verdict.value}{'!' * (result.verdict is Verdict.INCONSISTENT and bool(result.reason))}"


# --- what is read ---------------------------------------------------------------------------------


def test_what_is_inside() -> None:
    inside = [
        m.SubObjectPropertyChain((R, S), T),
        m.SubObjectPropertyChain((T, U), T),
        m.ReflexiveObjectProperty(S),
        m.SubClassOf(A, m.ObjectHasSelf(R)),
        m.FunctionalObjectProperty(R),
    ]
    assert split_axioms(inside) == (inside, [])
    assert [axiom for axiom, _, _ in split_axioms(inside, chains=False)[1]] == inside[:4]
    box = role_box(inside)
    assert not box.is_simple(next(iter(box.composite)))


@pytest.mark.parametrize(
    ("axioms", "outside"),
    [
        (
            [m.SubObjectPropertyChain((R, S, R), R), m.SubObjectPropertyChain((S, S), U)],
            [0],
        ),  # in its midst
        (
            [m.SubObjectPropertyChain((R, S), T), m.SubObjectPropertyOf(T, S), m.SubClassOf(A, B)],
            [0],
        ),  # a circle
        ([m.SubObjectPropertyChain((R, S), T), m.SubObjectPropertyChain((T, S), R)], [0, 1]),
        (
            [
                m.SubObjectPropertyChain((R, S), T),
                m.FunctionalObjectProperty(T),
                m.SubObjectPropertyChain((S, S), U),
            ],
            [0],
        ),
        ([m.SubObjectPropertyChain((R, S), T), m.SubClassOf(A, m.ObjectHasSelf(T))], [0]),
        ([m.TransitiveObjectProperty(T), m.SubClassOf(A, m.ObjectHasSelf(T))], [1]),
        ([m.SubObjectPropertyChain((R, S), T), m.HasKey(A, (T,), ())], [1]),
    ],
)
def test_what_stays_outside(axioms: list[m.Axiom], outside: list[int]) -> None:
    inside, reported = split_axioms(axioms)
    assert {axioms.index(axiom) for axiom, _, _ in reported} == set(outside)
    assert {kind for _, kind, _ in reported} == {"outside-shiq"}
    assert inside == [axiom for i, axiom in enumerate(axioms) if i not in outside]


def test_axioms_that_come_later_leave_clauses_as_they_are() -> None:
    tbox = m.TBox(
        (
            m.SubObjectPropertyChain((R, S), T),
            m.SubClassOf(A, m.ObjectAllValuesFrom(T, B)),
            m.SubClassOf(m.ObjectHasSelf(S), m.ObjectMaxCardinality(1, U)),
        )
    )
    more = [
        m.SubClassOf(m.Class("urn:Q"), m.ObjectAllValuesFrom(T, A)),
        m.SubClassOf(m.Class("urn:P"), m.ObjectMaxCardinality(1, S)),
    ]
    before, after = simplify(tbox).clauses, simplify(tbox, more).clauses
    assert after.clauses[: len(before.clauses)] == before.clauses
    assert after.atoms[: len(before.atoms)] == before.atoms


# --- automata -------------------------------------------------------------------------------------


def random_regular(seed: int) -> list[m.Axiom]:
    """Role axioms, chains among them that are regular."""
    rng = random.Random(f"words {seed}")

    def role() -> m.ObjectPropertyExpression:
        one = rng.choice((R, S, T))
        return m.ObjectInverseOf(one) if rng.random() < 0.25 else one

    axioms: list[m.Axiom] = []
    for _ in range(rng.choice((1, 2, 2, 3))):
        sup, links = role(), [role() for _ in range(rng.choice((2, 2, 3)))]
        if (place := rng.choice((None, 0, -1))) is not None:
            links[place] = sup
        axioms.append(m.SubObjectPropertyChain(tuple(links), sup))
    more = (m.SubObjectPropertyOf(role(), role()), m.EquivalentObjectProperties((role(), role())))
    alone = (
        m.TransitiveObjectProperty(rng.choice((R, S, T))),
        m.SymmetricObjectProperty(rng.choice((R, S, T))),
    )
    axioms += rng.sample((*more, *alone), rng.choice((0, 1, 1, 2)))
    beyond = irregular_chains(axioms, {})
    return [axiom for axiom in axioms if axiom not in beyond]


def derivation(
    axioms: list[m.Axiom], box: RoleBox
) -> Callable[[tuple[Role, ...]], frozenset[Role]]:
    """The roles that a word is below, by the axioms as rules of a grammar."""
    rules = [
        (tuple(map(role_of, a.chain)), role_of(a.sup))
        for a in axioms
        if isinstance(a, m.SubObjectPropertyChain)
    ]
    rules += [((r, r), r) for r in box.transitive]
    rules += [(tuple(r.inverse for r in reversed(word)), sup.inverse) for word, sup in rules]

    def fits(links: tuple[Role, ...], word: tuple[Role, ...]) -> bool:
        if len(links) == 1:
            return links[0] in above(word)
        cuts = range(1, len(word) - len(links) + 2)
        return any(links[0] in above(word[:i]) and fits(links[1:], word[i:]) for i in cuts)

    @cache
    def above(word: tuple[Role, ...]) -> frozenset[Role]:
        if len(word) == 1:
            return box.superroles(word[0])
        return frozenset(
            s for links, sup in rules if fits(links, word) for s in box.superroles(sup)
        )

    return above


def accepts(automaton: WordAutomaton, word: Iterable[Role], box: RoleBox) -> bool:
    states = {0}
    for letter in word:
        states = {
            q for p, role, q in automaton.steps if p in states and role in box.superroles(letter)
        }
    return not automaton.finals.isdisjoint(states)


def misread_words(seeds: range) -> Iterator[str]:
    letters = [Role(p.iri, inverted) for p in (R, S, T) for inverted in (False, True)]
    for seed in seeds:
        axioms = random_regular(seed)
        paths = RolePaths(axioms)
        above = derivation(axioms, paths.roles)
        for role, length in product(letters, (1, 2, 3)):
            if not paths.roles.is_simple(role):
                automaton = paths.automaton(role)
                for word in product(letters, repeat=length):
                    if accepts(automaton, word, paths.roles) != (role in above(word)):
                        yield f"seed {seed}: {role} {word}"


def _without_rounds(self: RolePaths, automaton: WordAutomaton) -> WordAutomaton:
    return replace(
        automaton, steps=frozenset((p, role, q) for p, role, q in automaton.steps if p != q)
    )


def test_automata_accept_what_the_axioms_derive(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not list(misread_words(range(80)))
    monkeypatch.setattr(RolePaths, "_drop_implied_letters", _without_rounds)
    assert any(misread_words(range(80)))


@pytest.mark.parametrize("engine", ["spec", "local"])
@pytest.mark.parametrize(
    "path",
    ["a p x . x a E", "a p x . x q y . y a E", "a k x . x a E", "a k x . x h y . y h z . z a E"],
)
def test_a_word_ends_in_each_final_state(path: str, engine: str) -> None:
    """p q* and k h* lead along t: their automaton has several final states."""
    axioms = tbox("p ⊑ u; u ∘ q ⊑ u; k ⊑ v; v ∘ h ⊑ v; u ⊑ t; v ⊑ t; A ⊑ ∀t.B; B ⊑ ¬E")
    paths = RolePaths(axioms.axioms)
    assert (
        len(paths.automaton(paths.representative(role_of(m.ObjectProperty("urn:t#t")))).finals) > 1
    )
    *links, last = triples(path)
    for criterion in ("clausal", "model"):
        assert verdict(axioms, [*links, *triples("a a A")], [last], criterion, engine) == (
            "inconsistent"
        )
        assert verdict(axioms, links, [last], criterion, engine) == "consistent"


# --- random comparison ----------------------------------------------------------------------------

CRITERIA = ("model", "clausal", "definition7")


def disagreements(
    seeds: range, engines: tuple[str, ...] = ("spec",), criteria: tuple[str, ...] = CRITERIA
) -> Iterator[str]:
    """Where a criterion and everything from scratch differ."""
    for seed in seeds:
        kb = random_chain_kb(seed, KINDS)
        if verdict(kb.tbox, kb.abox, (), "none") != "consistent":
            continue
        whole = verdict(kb.tbox, (), kb.union(), "none").rstrip("!")
        for criterion, engine in product(criteria, engines):
            found = verdict(kb.tbox, kb.abox, kb.insertions, criterion, engine, kb.deletions)
            if Verdict.UNDETERMINED.value not in (whole, found) and found != whole:
                yield f"seed {seed}: {criterion} {engine} says {found}, all at once {whole}"


def test_random_ontologies_say_what_everything_from_scratch_says() -> None:
    assert not list(disagreements(range(4), ("spec", "local")))


@pytest.mark.slow
def test_many_random_ontologies_say_what_everything_from_scratch_says() -> None:
    assert not list(disagreements(range(100_000, 105_000), ("spec", "local")))


# --- naive readings -------------------------------------------------------------------------------

#: Whether a gadget's last assertions are the batch; by which the small contradictions are cut in
#: two.
_CUTS = (1, -1)


def missed(names: Iterable[str]) -> set[str]:
    """Those of the small contradictions that some criterion does not see, wherever they are cut
    in two.
    """
    found: set[str] = set()
    for name, cut, criterion in product(names, _CUTS, CRITERIA[:2]):
        inside = gadget(name)
        base, batch = inside.assertions[:cut], inside.assertions[cut:]
        if verdict(inside.axioms, base, batch, criterion).rstrip("!") != "inconsistent":
            found.add(name)
    return found


def test_no_small_contradiction_is_missed() -> None:
    assert not missed((*PATH_GADGETS, *LOOP_GADGETS))


_LOOPS = tables.Tables._compute_loop_effects


def _without_contraction(inclusions: list[Inclusion], context: Context) -> list[Inclusion]:
    return inclusions


def _nothing_along_words(self: PathClauses, *given: object) -> Iterator[Inclusion]:
    return iter(())


def _loops_of_no_pair(self: tables.Tables) -> tables.LoopEffects:
    return tables.LoopEffects(_LOOPS(self).roles, (), 0)


def _is_no_loop(self: AtLeast) -> bool:
    return False


def _loops_bring_nothing(self: tables.Tables) -> tables.LoopEffects:
    return tables.LoopEffects({}, (), 0)


NAIVE: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "loops are no neighbours": (
        lambda patch: patch.setattr(loops, "contract_loops", _without_contraction),
        "a loop is a neighbour",
    ),
    "chains say nothing": (
        lambda patch: patch.setattr(PathClauses, "expand", _nothing_along_words),
        "a chain through witnesses",
    ),
    "a pair is never a loop": (
        lambda patch: patch.setattr(tables.Tables, "_compute_loop_effects", _loops_of_no_pair),
        "a loop by merging",
    ),
    "no role assertion is kept for a merge": (
        lambda patch: patch.setattr(seen, "roles_below_any", lambda named, roles: frozenset()),
        "a loop by a choice of merges",
    ),
    "others meet the need of a loop": (
        lambda patch: patch.setattr(AtLeast, "is_loop", property(_is_no_loop)),
        "a loop that is counted",
    ),
    "the tableau has no loops": (
        lambda patch: patch.setattr(tables.Tables, "_compute_loop_effects", _loops_bring_nothing),
        "a loop that is counted",
    ),
}


@pytest.mark.parametrize("reading", NAIVE)
def test_naive_readings_are_caught(reading: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, name = NAIVE[reading]
    plant(monkeypatch)
    assert missed((name,))
