"""The rules of wording, on planted lines (`tests.tools.vocabulary`)."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.tools.vocabulary import (
    ALLOWED,
    PACKAGES,
    ROOT,
    RULES,
    complaints,
    findings,
    in_page,
    is_bare,
    long_sentences,
    named,
)

pytestmark = pytest.mark.lint

LONG = " ".join(["word"] * 31)
PLANTED = f'''"""A module."""


class Base:
    """A base."""

    def merge(self):
        """Merge the elements."""


class Told(Base):
    """What is known."""

    kept: int
    label: int

    def merge(self):
        pass

    def of(self):
        """Which one.

        {LONG}
        """

    def undocumented(self):
        pass

    @property
    def size(self):
        pass

    @size.setter
    def size(self, value):
        pass


def saturate_labels():
    """Saturate the labels.

    >>> "{LONG}"
    """

    def left():
        pass


def _private():
    pass
'''


def test_planted_faults_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "streams"
    folder.mkdir()
    (folder / "within.py").write_text(PLANTED, encoding="utf-8")
    found = {(x.rule, x.text, x.line) for x in findings(tmp_path)}
    assert found == {
        ("name", "within", 1),
        ("name", "Told", 11),
        ("name", "Told.kept", 14),
        ("name", "Told.of", 20),
        ("name", "left", 44),
        ("undocumented", "Told.undocumented", 26),
        ("undocumented", "Told.size", 30),
        ("name", "Told.undocumented", 26),
        ("first word", "Told: What is known.", 11),
        ("first word", "Told.of: Which one.", 20),
        ("long sentence", LONG, 20),
    }
    assert {x.package for x in findings(tmp_path)} == {"streams"}


@pytest.mark.parametrize(
    "name", ["told", "_of", "Held", "get_known", "told_of", "Without", "aside"]
)
def test_a_bare_word_is_no_name(name: str) -> None:
    assert is_bare(name)


@pytest.mark.parametrize("name", ["told_literals", "is_known", "need", "Feed", "label_of", "next"])
def test_a_noun_a_verb_and_a_question_are_names(name: str) -> None:
    assert not is_bare(name)


def test_code_tables_and_entries_end_a_sentence() -> None:
    half = " ".join(["word"] * 20)
    page = f"# {LONG}\n\n{half} `{LONG}`\n* {half}\n* {half}\n\n| {half} | {half} |\n\n```\n{LONG}\n```\n"
    assert not list(in_page("docs/GATE.md", page))
    (found,) = in_page("README.md", f"{page}\n{half}\n[{half}](x.md).\n")
    assert (found.line, found.package) == (13, "documents")
    assert not list(
        long_sentences(f"{half}. {half}; {half}:\n{half}\n\nmoved: {half}\nkept: {half}")
    )


def test_more_than_remain_fails_and_fewer_asks_for_less() -> None:
    counts = Counter({("name", "shiq"): 3, ("name", "jobs"): 1})
    above, below = complaints(counts, {"name": {"shiq": 2, "jobs": 2, "streams": 1}})
    assert len(above) == 1 and above[0].startswith("shiq: 3 of “name”, 2 remain")
    assert [x.split(":")[0] for x in below] == ["jobs", "streams"]


def test_each_exception_is_used_and_has_a_reason() -> None:
    assert all(ALLOWED.values()) and all(RULES.values())
    used = {
        form
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name, qualified, _ in named(ast.parse(path.read_text(encoding="utf-8")))
        if is_bare(name)
        for form in (name, qualified)
    }
    assert not ALLOWED.keys() - used, "no longer needed: take it off the list"
