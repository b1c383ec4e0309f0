"""Names of exported classes that 0.2 had: they work until 0.3, and warn."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import pytest

from shiq.deprecation import RenamedAttribute
from shiq.model import Class, ClassAssertion, DisjointClasses, SubClassOf, TBox
from shiq.model.abox import abox_of
from shiq.streams.consistency import plan
from shiq.streams.discovery import RuleMiner
from shiq.streams.discovery.report import GroundRuleFinding, RuleFinding
from shiq.streams.discovery.settings import MinerSettings
from shiq.streams.enrichment import open_enricher
from shiq.streams.enrichment.prefill import PrefillCounts
from shiq.streams.rules import Program

JAM, SLOW, LATE = Class("urn:Jam"), Class("urn:Slow"), Class("urn:Late")
TBOX = TBox((SubClassOf(JAM, SLOW), SubClassOf(LATE, SLOW)))
PROGRAM = Program.parse("d(X) :- b(X) in [1].  e(X) :- d(X).")


def mined(**options: Any) -> Any:
    miner = RuleMiner(TBOX, window=1, max_atoms=1, **options)
    both = abox_of([ClassAssertion(JAM, "urn:a"), ClassAssertion(LATE, "urn:a")])
    return miner.partial_fit(0, [both])


def exported() -> list[object]:
    """An instance of each class with old names."""
    report, ground = mined(), mined(language="ground")
    session = PROGRAM.session()
    model = next(PROGRAM.run([(0, ["b(1)"])]))
    settings = MinerSettings(5)
    disjoint = plan(TBox((DisjointClasses((JAM, LATE)),)))
    found = [PROGRAM, PROGRAM.key, PROGRAM.splitting, session, model, report, disjoint]
    found += [settings, settings.gating, PrefillCounts(1, 2, 3, 4)]
    assert isinstance(report.findings[0], RuleFinding)
    assert isinstance(ground.findings[0], GroundRuleFinding)
    with open_enricher(TBOX, reasoner="own") as enricher:
        return [*found, report.findings[0], ground.findings[0], enricher]


def old_names(cls: type) -> list[RenamedAttribute]:
    return [value for value in vars(cls).values() if isinstance(value, RenamedAttribute)]


def test_old_names_give_what_the_new_ones_do_and_warn() -> None:
    tried = 0
    for one in exported():
        names = old_names(type(one))
        assert names, type(one)
        for name in names:
            with pytest.warns(
                DeprecationWarning, match=rf"\b{name.old} is .*\b{name.new} now; .* 0\.3"
            ):
                value = getattr(one, name.old)
            assert value == getattr(one, name.new)
            tried += 1
    assert tried > 35


def test_constructors_take_old_arguments() -> None:
    with pytest.warns(
        DeprecationWarning, match=r"Program\(checked=…\) is Program\(checked_program=…\)"
    ):
        made = Program(
            checked=PROGRAM.checked_program,  # type: ignore[call-arg]
            functions={},
            unit="sec",
            parsed_program=PROGRAM.parsed_program,
        )
    assert [model.derived for model in made.run([(0, ["b(1)"])])] == [["d(1)", "e(1)"]]
    with pytest.warns(DeprecationWarning, match="read_as"):
        other = replace(made, read_as=PROGRAM.parsed_program, unit="min")
    assert (other.unit, other.checked_program) == ("min", PROGRAM.checked_program)
    with pytest.raises(TypeError, match="program_text"):
        Program(program_text=1)  # type: ignore[call-arg]


def test_old_methods_of_a_session_work() -> None:
    session: Any = PROGRAM.session()
    with pytest.warns(DeprecationWarning, match="RuleSession.taken is RuleSession.push_lazily"):
        assert [*session.taken(0, ["b(1)"])] == []
    with pytest.warns(DeprecationWarning, match="finished"):
        assert [model.derived for model in session.finished()] == [["d(1)", "e(1)"]]
    with pytest.warns(DeprecationWarning, match="from_options"):
        assert MinerSettings.of(3, min_lift=1.5).report.min_lift == 1.5


def test_old_names_can_be_set() -> None:
    with open_enricher(TBOX, reasoner="own") as enricher:
        with pytest.warns(DeprecationWarning, match="static_folder"):
            enricher.folder = None
        assert enricher.static_folder is None


def test_new_names_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        for one in exported():
            for name in old_names(type(one)):
                getattr(one, name.new)
