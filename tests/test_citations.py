"""What docstrings cite: sections of docs/THEORY.md by their titles, and documents that are in
this repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("shiq", "simplify", "abox_ops", "jobs", "streams", "tests")
HERE = Path(__file__).resolve()

_TITLES = r'"[^"]+"(?:(?:,| and|, and) "[^"]+")*'
_CITED = re.compile(rf"THEORY(?:\.md)?, ({_TITLES})")
_BY_NUMBER = re.compile(r"THEORY(?:\.md)?,? (?:section |part )?\d")
_DOCUMENT = re.compile(r"(?<![\w*.{/-])((?:docs|data)/)?([\w/-]+\.md)\b")


@cache
def titles() -> frozenset[str]:
    """The sections of docs/THEORY.md, without numbers; what stands behind a colon or in
    parentheses may be left out.
    """
    text = (ROOT / "docs" / "THEORY.md").read_text(encoding="utf-8")
    found = re.findall(r"^##+ (?:\d[\d.]* )?(.*)$", text, re.MULTILINE)
    return frozenset(form for title in found for form in (title, re.split(r" \(|: ", title)[0]))


def faults(source: str, known: frozenset[str]) -> Iterator[str]:
    """What ``source`` cites that is not there, or by a number that will move."""
    text = re.sub(r"\s*\n\s*(?:# )?", " ", source)
    for cited in _CITED.findall(text):
        yield from (
            f"no section {title!r}"
            for title in re.findall(r'"([^"]+)"', cited)
            if title not in known
        )
    yield from (f"cited by number: {number}" for number in _BY_NUMBER.findall(text))
    if re.search(r"THEORY_\w|ARCHITECTURE", text):
        yield "cites a document that is not here"
    for folder, name in _DOCUMENT.findall(text):
        if folder and not (ROOT / folder / name).is_file():
            yield f"no document {folder}{name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_cited_is_there(package: str) -> None:
    sources = sorted(path for path in (ROOT / package).rglob("*.py") if path != HERE)
    found = {
        str(path.relative_to(ROOT)): [*faults(path.read_text(encoding="utf-8"), titles())]
        for path in sources
    }
    assert {path: wrong for path, wrong in found.items() if wrong} == {} != found


def test_the_table_of_theory_has_each_section_and_names_files_that_are_there() -> None:
    text = (ROOT / "docs" / "THEORY.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", text.split("\n## ")[0], re.MULTILINE))
    del table["section"]
    for code in table.values():
        folder = ROOT
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", code):
            path = ROOT / name if "/" in name else folder / name
            assert path.exists(), f"{code}: no {name}"
            folder = path if path.is_dir() else path.parent
        files = re.findall(r"`([\w/]+\.py)`(?!: )", code)
        assert len(files) == len({*files}), code
        for name, defined in re.findall(r"`([\w/]+\.py)`: `(\w+)`", code):
            source = (ROOT / name).read_text(encoding="utf-8")
            assert re.search(rf"^ *(def|class) {defined}\b", source, re.MULTILINE), (name, defined)
    cells = [cell for row in table for cell in row.split(", ")]
    for number, title in re.findall(r"^##+ (?:(\d[\d.]*) )?(.*)$", text, re.MULTILINE):
        name = re.split(r" \(|: |,", title)[0]
        in_table = any(name.startswith(re.sub(r"^[\d.]+ ", "", cell)) for cell in cells)
        assert in_table or number in ("1.", "2.", "3.", "10.", "11."), title


@pytest.mark.parametrize(
    "source",
    [
        '"""Told (THEORY, "No such section")."""',
        '"""Told (THEORY, "Told literals" and "No such\n    section")."""',
        '"""Told (THEORY.md 2.2)."""',
        '"""Told (THEORY,\n    2.2)."""',
        '"""Words (THEORY_OWL2)."""',
        '"""The store (ARCHITECTURE, idea 2)."""',
        '"""See docs/NOWHERE.md."""',
    ],
)
def test_faults_are_seen(source: str) -> None:
    assert list(faults(source, titles())) != []


def test_citations_pass() -> None:
    assert (
        list(
            faults(
                '"""A (THEORY, "Told literals", "Part-of" and "The\n    loop"; docs/GATE.md)."""',
                titles(),
            )
        )
        == []
    )
