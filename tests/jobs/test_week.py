"""A week of nights: what its history says to somebody who did not see it.

`python -m tests.jobs.test_week FOLDER` writes its pages.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from html import unescape
from pathlib import Path
from unittest import mock

import pytest

from shiq.jobs import history
from shiq.model import RDF
from tests.command_line import Called, shiq

TBOX = """Prefix(:=<http://example.org/plant#>) Prefix(rdfs:=<http://www.w3.org/2000/01/rdf-schema#>) Ontology(<http://example.org/plant>
SubClassOf(:Pump :Machine) DisjointClasses(:Machine :Sensor) Declaration(Class(:Sensor)) ObjectPropertyDomain(:measures :Sensor)
FunctionalDataProperty(:serial) DataPropertyRange(:unit DataOneOf("C" "bar")) Declaration(DataProperty(:serial))
AnnotationAssertion(rdfs:label :serial "serial number"))"""


def of(name: str, kind: str) -> str:
    return f"<http://example.org/plant#{name}> <{RDF}type> <http://example.org/plant#{kind}> .\n"


def link(name: str, property: str, value: str) -> str:
    value = value if value.startswith('"') else f"<http://example.org/plant#{value}>"
    return f"<http://example.org/plant#{name}> <http://example.org/plant#{property}> {value} .\n"


def good(night: int) -> str:
    return "".join(of(f"p{night}x{i}", "Pump") for i in range(20))


#: A pump that measures: a fault of a feed, until it is repaired.
PUMPS = [link(f"p0x{i}", "measures", f"m{i}") for i in range(6)]
#: A unit that everybody knows of.
KELVIN = link("s1", "unit", '"K"')
#: Every line has a second serial number: a broken delivery.
SERIALS = "".join(link(f"p0x{i}", "serial", f'"{n}"') for i in range(10) for n in (1, 2))
#: Hours after the first night, and what arrives.
BATCHES = [
    (0, good(1)),
    (12, good(2)),
    (24, good(3) + PUMPS[0] + PUMPS[1]),
    (36, good(4)),
    (48, good(5) + "".join(PUMPS[:4]) + KELVIN),
    (60, good(6) + "".join(PUMPS) + KELVIN),
    (72, good(7) + link("p1x1", "sreial", '"S-1"') + KELVIN),
    (84, good(8) + KELVIN),
    (96, good(9) + KELVIN),
    (108, SERIALS + KELVIN),
    (120, good(11) + KELVIN),
    (144, good(12) + KELVIN),
]


class _Clock(datetime):
    """The time that the simulated nights have."""

    at = datetime(2026, 3, 2, 2, 0, tzinfo=timezone.utc)

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return cls.at


def live(folder: Path, check: Callable[[int, Called], None]) -> None:
    """Run the week in ``folder``, with its store in `kg`."""
    (folder / "plant.ofn").write_text(TBOX, "utf-8")
    (folder / "data.nt").write_text(
        "".join(of(f"p0x{i}", "Pump") for i in range(10)) + of("s1", "Sensor"), "utf-8"
    )
    shiq("index", "--tbox", "plant.ofn", "--store", "kg", "data.nt", "-q", cwd=folder)
    (folder / "kelvin.nt").write_text(KELVIN, "utf-8")
    told = shiq(
        "check", "--store", "kg", "-i", "kelvin.nt", "--no-history", "--json", "-", cwd=folder
    )
    pattern = json.loads(told.stdout)["groups"][0]["pattern"]
    (folder / "policy.toml").write_text(
        f'[[waiver]]\npattern = "{pattern}"\nowner = "ann@example.org"\n'
        'reason = "the feed mends it in spring"\nexpires = 2999-01-31\n'
    )
    sides = ("--mode", "split", "--quarantine", "aside.nq", "--max-quarantine", "30%")
    with mock.patch.object(history, "datetime", _Clock):
        start = _Clock.at
        for number, (hours, text) in enumerate(BATCHES, 1):
            name = f"night-{number:02}.nt"
            (folder / name).write_text(text, "utf-8")
            with mock.patch.object(_Clock, "at", start + timedelta(hours=hours)):
                gate = (
                    "gate",
                    "--store",
                    "kg",
                    "-i",
                    name,
                    "--policy",
                    "policy.toml",
                    "--commit",
                    "-q",
                )
                check(number, shiq(*gate, *sides, cwd=folder))


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("week")
    ended: list[int] = []
    live(folder, lambda _, called: ended.append(called.returncode))
    assert ended == [0, 0, 5, 0, 5, 5, 5, 0, 0, 1, 0, 0]
    assert shiq("report", "--history", "kg", "--html", "pages", cwd=folder).returncode == 0
    return folder


def test_the_first_page_tells_what_became_of_each_cause(week: Path) -> None:
    page = unescape((week / "pages" / "index.html").read_text("utf-8"))
    rows = re.findall(r"<tr><td>(.*?) <span.*?in (\d+) runs.*?chip\">(\w+)<.*?</tr>", page)
    assert rows == [
        ("“unit”: not “C” or “bar”", "8", "known"),
        ("two values for “serial number”", "1", "gone"),
        ("both Machine and Sensor", "3", "gone"),
    ]
    assert "gate of night-12.nt, 2026-03-08 02:00 UTC" in page
    assert "<li>Nothing now. Does not block: “unit”: not “C” or “bar” (known).</li>" in page


def test_the_page_of_a_run_names_what_was_set_aside_and_what_is_waived(week: Path) -> None:
    (run,) = (week / "pages").glob("run-20260304T020000*")
    page = unescape(run.read_text("utf-8"))
    assert "<dt>set aside</dt><dd>4</dd>" in page
    assert re.findall(r"<td>new(?: <span class=\"chip\">(\w+)</span>)?</td>", page) == [
        "",
        "waived",
    ]


def test_the_effect_of_a_policy_is_in_the_row(week: Path) -> None:
    rows, unread = history.read_history(str(week / "kg"))
    assert not unread
    effects = [{cause.effect for cause in row.causes if "unit" in cause.title} for row in rows]
    assert effects[4:] == [{"waived"}, *[{"known"}] * 7]


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True)
    live(target, lambda night, called: print(night, called.returncode, called.stdout[:60]))
    shiq("report", "--history", "kg", "--html", "pages", cwd=target)
    print(shiq("history", "kg", cwd=target).stdout)
