"""Lives of stores of random OWL 2 DL: after whatever happened to one, each verdict is HermiT's
on what it holds by then.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq.abox_ops.outside_question import write_question
from shiq.api import Session, certify_store, index, open_store
from shiq.functional.writer import ontology_text
from shiq.jobs.checking import session as sessions
from shiq.jobs.checking.inputs import OUTSIDE_KIND
from shiq.jobs.gate import gate
from shiq.jobs.store.upkeep import compact
from shiq.model import Assertion, Axiom, ObjectInverseOf, ObjectPropertyAssertion
from shiq.model.ntriples import assertion_lines
from shiq.model.profile import split_assertions, split_axioms
from shiq.model.role_words import IrregularRolesError
from shiq.reasoner.hermit import HermitReasoner
from tests.outside_random import random_life

pytestmark = pytest.mark.jvm

#: How many lives there are; 200 were once, with `SHIQ_LIVES=200`.
LIVES = int(os.environ.get("SHIQ_LIVES", "12"))
STEPS = (
    "check",
    "commit",
    "commit",
    "commit",
    "gate",
    "gate",
    "compact",
    "certify",
    "new TBox",
    "snapshot",
)
#: The names of the ontologies are not all in each TBox, and some have no axioms.
ALLOW = ["undeclared", "empty-tbox"]


@pytest.fixture(scope="module")
def hermit() -> Iterator[HermitReasoner]:
    made = HermitReasoner(timeout=10.0)
    yield made
    made.close()


def said(facts: Iterable[Assertion], axioms: list[Axiom]) -> frozenset[Assertion]:
    """What a store holds of ``facts``: nominals that only name an individual are said without."""
    held: set[Assertion] = set()
    for fact in facts:
        inside, reported = split_assertions([fact], split_axioms(axioms)[0])
        held.update(
            [fact] if any(kind == OUTSIDE_KIND for _, kind, _ in reported) else map(turned, inside)
        )
    return frozenset(held)


def turned(fact: Assertion) -> Assertion:
    match fact:
        case ObjectPropertyAssertion(ObjectInverseOf(role), subject, object):
            return ObjectPropertyAssertion(role, object, subject)
    return fact


class Life:
    """A store, and what it should hold: ``now``, and ``then`` by the number of each snapshot."""

    def __init__(self, seed: int, folder: Path, hermit: HermitReasoner) -> None:
        self.rng, self.folder, self.store, self.hermit = (
            random.Random(f"steps {seed}"),
            folder,
            folder / "kg",
            hermit,
        )
        self.seed, self.met, self.done = seed, Counter[tuple[str, str]](), ["index"]
        tboxes, (base, *self.batches) = random_life(seed, 6)
        self.axioms, self.later = tboxes
        self.now = said(base, self.axioms)
        self.then: dict[int, frozenset[Assertion]] = {}
        found = index(self.tbox(), self.file("a", base), self.store, explain_seconds=0, allow=ALLOW)
        self.is_over = self.judged("index", found.verdict.value, self.now) != "consistent"

    def tbox(self) -> Path:
        path = self.folder / "t.ofn"
        path.write_text(ontology_text(self.axioms, []))
        return path

    def file(self, name: str, facts: Iterable[Assertion]) -> str:
        path = self.folder / f"{name}.nt"
        path.write_text("".join(f"{line}\n" for fact in facts for line in assertion_lines(fact)))
        return str(path)

    def judged(self, step: str, verdict: str, facts: Iterable[Assertion]) -> str:
        """``verdict``, which HermiT gives, asked as it is written or (see
        `tests.shiq.test_outside_random.FAULTS`) without chains.
        """
        self.met[step, verdict] += 1
        if verdict != "undetermined":
            asked = sorted(facts, key=repr)
            truths = [self.hermit.decide_consistency(self.axioms, asked).verdict.value]
            if verdict not in truths:
                try:
                    put = write_question(self.axioms, asked)
                    truths.append(
                        self.hermit.decide_consistency(
                            put.axioms, put.assertions, is_normal=True
                        ).verdict.value
                    )
                except IrregularRolesError:
                    truths.append("undetermined")
            assert verdict in truths or {*truths} == {"undetermined"}, (
                f"life {self.seed}: {self.done}, {verdict}, HermiT {truths}"
            )
        return verdict

    def settings(self) -> dict[str, object]:
        criterion = self.rng.choice(("auto", "auto", "model", "clausal", "definition7"))
        engine = self.rng.choice(("local", "local", "spec"))
        return {"criterion": criterion, "engine": engine, "timeout": 60.0, "allow": ["undeclared"]}

    def run(self) -> None:
        for batch in self.batches:
            if self.is_over:
                return
            step = self.rng.choice(STEPS)
            held = (
                self.then[number]
                if step == "snapshot" and (number := max(self.then, default=0))
                else self.now
            )
            gone = self.rng.sample(
                sorted(held, key=repr), min(len(held), self.rng.choice((0, 0, 1, 2)))
            )
            gone += self.rng.choice(self.batches)[:1]  # as a rule nothing of the store
            self.done.append(f"{step}: {batch} less {gone}")
            self.step(
                step, batch, gone, (held - said(gone, self.axioms)) | said(batch, self.axioms)
            )

    def step(
        self, step: str, batch: list[Assertion], gone: list[Assertion], union: frozenset[Assertion]
    ) -> None:
        if step == "compact":
            compact(self.store)
            self.then.clear()
        elif step in ("certify", "new TBox"):
            new = None
            if step == "new TBox":
                self.axioms, self.later = self.later, self.axioms
                new, self.now = self.tbox(), said(self.now, self.axioms)
                self.then.clear()
            found = certify_store(self.store, new, explain_seconds=0, allow=ALLOW)
            self.is_over = self.judged(step, found.verdict.value, self.now) != "consistent"
        elif step == "gate":
            with open_store(self.store) as session:
                files = [self.file("i", batch)], [self.file("d", gone)]
                answer = gate(session, *files, mode="split", commit=True, **self.settings())
                after = self.held(session)
            self.judged("gate", answer.verdict.value, union)
            assert self.now - {*gone} <= after <= union or after == self.now, self.done
            self.now = after
            self.judged("after the gate", "consistent", self.now)
        else:
            with open_store(
                self.store, max(self.then) if step == "snapshot" and self.then else None
            ) as session:
                files, number = (
                    (self.file("i", batch), self.file("d", gone)),
                    session._store.snapshot,
                )
                found = session.check(
                    *files, explain_seconds=0, commit=step == "commit", **self.settings()
                )
                self.judged(step, found.verdict.value, union)
                if found.committed:
                    self.then |= {number: self.now} if found.committed > number else {}
                    self.now = union
                    assert self.held(session) == self.now, self.done

    def held(self, session: Session) -> frozenset[Assertion]:
        outside = (
            v for x in session._store.data_leftovers for v in x.values if not isinstance(v, Axiom)
        )
        return said((*session._store.export(), *outside), self.axioms)


def lives(folder: Path, hermit: HermitReasoner, count: int) -> Counter[tuple[str, str]]:
    met = Counter[tuple[str, str]]()
    for seed in range(count):
        (folder / str(seed)).mkdir()
        life = Life(seed, folder / str(seed), hermit)
        life.run()
        met += life.met
    return met


def test_each_verdict_is_that_on_what_the_store_holds_by_then(
    tmp_path: Path, hermit: HermitReasoner
) -> None:
    met = lives(tmp_path, hermit, LIVES)
    assert {step for step, _ in met} >= {"index", "commit", "gate", "after the gate", "new TBox"}, (
        met
    )
    assert min(met["commit", "consistent"], met["commit", "inconsistent"]) > 0, met


def test_a_store_that_forgets_what_is_outside_is_found_out(
    tmp_path: Path, hermit: HermitReasoner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_leftovers_after_batch", lambda held, batch, options: held)
    with pytest.raises(AssertionError):
        lives(tmp_path, hermit, 12)
