"""Pages: whatever a template prints is escaped and hides nothing, and no HTML stands in Python."""

from __future__ import annotations

import inspect
import re
from html import unescape
from pathlib import Path

import pytest

from shiq.jobs.pages import cut_text, environment, escape_invisible, split_at_joints
from shiq.jobs.reports import html

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "jobs" / "templates"
HOSTILE = [
    "</p><script>alert('x')</script>",
    '" onclick="alert(1)',
    "a\u202eb\u0007\n\ud800&amp;{{ 7 * 7 }}{% raw %}",
    "urn:x#</bdi>_<b>",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("printed", ["x", "x|short", "[x, x]|join(', ')", "x|joints|first", "m(x)"])
def test_what_a_template_prints_is_escaped_and_visible(text: str, printed: str) -> None:
    template = environment().from_string(
        '{% macro m(y) %}{{ y }}{% endmacro %}<p title="{{ '
        + printed
        + ' }}">{{ '
        + printed
        + " }}</p>"
    )
    made = template.render(x=text)
    found = re.fullmatch(r'<p title="([^"<>]*)">([^"<>]*)</p>', made)
    assert found, made
    assert made.isprintable()
    said = unescape(found[2])
    assert said == unescape(found[1])
    if printed in ("x", "x|short", "m(x)"):
        assert said == escape_invisible(text)


def test_no_template_switches_escaping_off_or_prints_outside_quotes() -> None:
    files = [path for path in TEMPLATES.rglob("*") if path.is_file()]
    assert len(files) > 10
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"\|\s*safe|autoescape|Markup|\|\s*(?:xmlattr|tojson|striptags)", text
        ), path
        assert not re.search(r"<[^<>{}]*=\s*\{\{", text), f"{path}: an attribute without quotes"
        if path.suffix in (".css", ".js"):
            assert not re.search(r"\{\{|\{%|\{#", text), f"{path}: static text only"


def test_no_html_stands_in_python() -> None:
    tags = r"""</p>|</?(?:div|span|table|t[dhr]|ul|li|h[1-6]|section|svg|rect|style|script|code)\b[^<>\n]*>"""
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for folder in ("shiq", "simplify", "abox_ops", "jobs", "streams")
        for path in (ROOT / folder).rglob("*.py")
        for match in re.finditer(tags, path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_every_template_compiles_and_is_used() -> None:
    names = {
        path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*") if path.is_file()
    }
    assert set(environment().list_templates()) == names
    texts = {name: (TEMPLATES / name).read_text(encoding="utf-8") for name in names}
    for name in names:
        environment().get_template(name)
    python = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "jobs").rglob("*.py"))
    rows = re.findall(r'\(\s*"(\w+)",', inspect.getsource(html._sections))
    sections = {f"report/{name}.html" for name in rows}
    named = {
        name
        for name in names
        if f'"{name}"' in python or any(f'"{name}"' in t for t in texts.values())
    }
    assert names == named | sections


def test_long_text_is_cut_between_words_and_names_break_where_parts_meet() -> None:
    assert cut_text("one two three", 9) == "one two …"
    assert cut_text("x" * 20, 9) == "xxxxxxxx …"
    assert split_at_joints("a/b.c d:e") == ["a/", "b.", "c d:", "e"]
    assert "".join(split_at_joints("urn:\u202ex#y_z")) == escape_invisible("urn:\u202ex#y_z")
