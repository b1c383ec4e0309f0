"""What people type instead of the words of the command line is understood, or refused with what
to type.
"""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from shiq.jobs.commands.options import Seconds
from tests.command_line import shiq

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("words")
    (made / "t.ofn").write_text("Ontology(<urn:o> DisjointClasses(<urn:A> <urn:B>))")
    (made / "a.nt").write_text(f"<urn:a> {TYPE} <urn:A> .\n")
    (made / "b.nt").write_text(f"<urn:b> {TYPE} <urn:B> .\n")
    assert (
        shiq(
            "index", "-t", "t.ofn", "-s", "kg", "a.nt", "-q", "--reasoner", "own", cwd=made
        ).returncode
        == 0
    )
    return made


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("300", 300.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("90s", 90.0),
        ("5m", 300.0),
        ("5 min", 300.0),
        ("1h30m", 5400.0),
        ("1H 30M", 5400.0),
        ("2d", 172800.0),
        ("250ms", 0.25),
    ],
)
def test_a_time_has_units(text: str, seconds: float) -> None:
    assert Seconds().convert(text, None, None) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "m", "5x", "5 parsecs", "-1", "5m30", "30 5m", "1e3", "inf", "nan", "5,5m"]
)
def test_what_is_no_time_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(
        click.BadParameter, match=r"is no time. Say 300 \(seconds\), 90s, 5m or 1h30m"
    ):
        Seconds().convert(text, None, None)


def test_a_time_may_be_too_short() -> None:
    with pytest.raises(click.BadParameter, match=r"'50ms' is too short: 0\.1 seconds at least"):
        Seconds(0.1).convert("50ms", None, None)


def test_a_timeout_in_minutes(folder: Path) -> None:
    asked = ("check", "-s", "kg", "-i", "b.nt", "-q", "--reasoner", "own")
    assert shiq(*asked, "--timeout", "5m", "--explain-seconds", "1m", cwd=folder).returncode == 0
    assert shiq(*asked, "--timeout", "5 apples", cwd=folder).returncode == 2


@pytest.mark.parametrize(
    ("asked", "as_if"),
    [
        (("help",), ("--help",)),
        (("help", "check"), ("check", "--help")),
        (("help", "stream", "rules"), ("stream", "rules", "--help")),
        (("stream", "help", "rules"), ("stream", "rules", "--help")),
        (("stream", "help"), ("stream", "--help")),
    ],
)
def test_help_is_a_word(asked: tuple[str, ...], as_if: tuple[str, ...]) -> None:
    there, here = shiq(*asked), shiq(*as_if)
    assert (there.returncode, there.stdout, there.stderr) == (0, here.stdout, "")
    assert there.stdout.startswith("Usage: shiq")


def test_help_on_nothing_is_answered_with_the_nearest() -> None:
    done = shiq("help", "chekc")
    assert (done.returncode, "Did you mean 'check'?" in done.stderr) == (2, True)


@pytest.mark.parametrize("command", ["status", "export"])
def test_a_store_may_be_named_without_its_option(command: str, folder: Path) -> None:
    named, by_option = shiq(command, "kg", cwd=folder), shiq(command, "--store", "kg", cwd=folder)
    assert (named.returncode, named.stdout) == (0, by_option.stdout)
    for wrong, text in (
        (("kg", "--store", "kg"), "Two stores"),
        ((), "Which store? Give it by --store DIR."),
    ):
        done = shiq(command, *wrong, cwd=folder)
        assert (done.returncode, text in done.stderr) == (2, True)


def test_a_store_is_compacted_by_its_name(folder: Path) -> None:
    assert shiq("compact", "kg", cwd=folder).stdout.startswith("snapshot ")


def test_an_abox_beside_a_store_is_refused_with_what_to_type(folder: Path) -> None:
    done = shiq("check", "--store", "kg", "--abox", "a.nt", "--insert", "b.nt", cwd=folder)
    assert (done.returncode, "shiq check --store kg --insert a.nt --commit" in done.stderr) == (
        2,
        True,
    )
    assert (
        shiq("check", "--store", "kg", "--insert", "a.nt", "--commit", "-q", cwd=folder).returncode
        == 0
    )


def test_examples_in_a_help_text_keep_their_lines() -> None:
    from shiq.jobs.cli import cli

    def helps(command: click.Command, context: click.Context) -> dict[str, str]:
        found = {context.command_path: command.help or ""}
        for name in command.list_commands(context) if isinstance(command, click.Group) else ():
            inner = command.get_command(context, name)  # type: ignore[attr-defined]
            assert inner is not None
            found |= helps(inner, click.Context(inner, info_name=name, parent=context))
        return found

    texts = helps(cli, click.Context(cli, info_name="shiq"))
    examples = {
        name: [part for part in text.split("\n\n") if "\b" in part] for name, text in texts.items()
    }
    assert sum(map(len, examples.values())) >= 10
    assert not [
        name for name, parts in examples.items() if any("\b\n" not in part for part in parts)
    ]
