"""Options of commands are fields of dataclasses: name, default and help stand there once."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import click
import pytest
from command_line import shiq

from shiq.jobs.checking.options import Options
from shiq.jobs.cli import cli
from shiq.jobs.commands.options import AnswerOptions, field_option
from shiq.jobs.commands.stream.options import StreamArguments, SummaryOptions
from shiq.jobs.gate import GateOptions
from shiq.jobs.option_fields import Heading, Takes, declared_option, default_value
from shiq.streams.enrichment.enricher import EnricherSettings
from shiq.streams.enrichment.stream import RowSettings

#: Fields that only callers in Python set, or that are another dataclass's option.
NO_OPTION = {
    Options: {"progress", "certain", "range_size", "repairs"},
    AnswerOptions: set(),
    StreamArguments: {"master", "summary"},
    SummaryOptions: set(),
    EnricherSettings: {"heap"},
    RowSettings: set(),
    GateOptions: set(),
}


def command(*path: str) -> click.Command:
    found: Any = cli
    for name in path:
        found = found.get_command(click.Context(found), name)
    assert isinstance(found, click.Command)
    return found


@pytest.mark.parametrize("owner", NO_OPTION)
def test_each_field_is_an_option_with_a_help_text(owner: Any) -> None:
    shown = {
        field.name: declared_option(owner, field.name) for field in fields(owner) if field.metadata
    }
    assert {field.name for field in fields(owner)} - set(shown) == NO_OPTION[owner]
    for name, option in shown.items():
        assert re.fullmatch(r"[A-Z].*\.( +\[default: .*\])?", option.help), name
        assert not (option.choices and option.takes is not Takes.TEXT), name


@pytest.mark.parametrize(
    ("owner", "path"),
    [
        (Options, ("check",)),
        (Options, ("gate",)),
        (AnswerOptions, ("index",)),
        (StreamArguments, ("stream", "enrich")),
    ],
)
def test_a_command_has_the_defaults_of_the_fields(owner: Any, path: tuple[str, ...]) -> None:
    params = {param.name: param for param in command(*path).params}
    shared = [field.name for field in fields(owner) if field.metadata and field.name in params]
    assert len(shared) >= 4
    parsed = command(*path).make_context("x", [], resilient_parsing=True)
    for name in shared:
        if name in ("format", "unit", "options"):  # a stream command has its own
            continue
        default = default_value(owner, name)
        found = parsed.params[name]
        assert found == default or (not found and not default), name
        assert params[name].param_type_name == "option"


@pytest.mark.parametrize("given", ["none", "7"])
def test_a_number_that_may_be_a_word_is_a_text(given: str) -> None:
    """Its default is a number, of which click would make the kind of the option."""
    parsed = command("stream", "enrich").make_context(
        "x", ["--source", "events.jsonl", "--capacity", given]
    )
    assert parsed.params["capacity"] == given


def test_help_groups_the_options_in_one_order() -> None:
    code, text, _ = shiq("check", "--help")
    headings = re.findall(r"^(\S.*):$", text.split("Kinds of leftovers")[0], re.MULTILINE)
    assert (code, headings) == (0, [heading.value for heading in Heading])
    sections = dict(zip(headings, re.split(r"^\S.*:$", text, flags=re.MULTILINE)[1:]))
    assert "--store" in sections["Options"] and "--help" in sections["Options"]
    assert "--criterion" in sections["How it is decided"]
    assert "--allow" in sections["What may be left out of account"]
    assert "--timeout" in sections["Limits"] and "--master" in sections["Spark"]
    for param in command("check").params:
        assert text.count(f" {max(param.opts, key=len)} ") >= 1, param.name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one", "is no share"),
        ("5", "not between 0 and 1"),
        ("-1%", "not between"),
        ("5%", None),
        ("0.05", None),
    ],
)
def test_a_share(text: str, said: str | None) -> None:
    @click.command()
    @field_option(Options, "audit")
    def audited(audit: float) -> float:
        return audit

    if said is None:
        assert audited.main(["--audit", text], standalone_mode=False) == 0.05
        return
    with pytest.raises(click.BadParameter, match=said):
        audited.main(["--audit", text], standalone_mode=False)
