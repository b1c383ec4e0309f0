"""Write docs/REFERENCE.md from commands, docstrings and tables: `python -m tests.tools.reference`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import EnumMeta
from pathlib import Path

import click

import shiq
from shiq.answers.verdict import EXIT_CODES, INFORMATIVE, KINDS, Verdict
from shiq.jobs.cli import cli
from tests.tools.leftover_examples import EXAMPLES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "REFERENCE.md"
WIDTH = 100
#: A class with more parameters than so many is made by functions.
MOST_SHOWN = 8
_HEAD = """# Reference

Made by `python -m tests.tools.reference` from the commands, the docstrings and the tables of the program. Do not edit.

* [Commands](#commands): every command with all its options.
* [Python](#python): every name of `shiq`.
* [Exit codes](#exit-codes) of all commands.
* [Kinds of leftovers](#kinds-of-leftovers): what may stand in the way of a verdict, with an example and a remedy of each.

"""
_KINDS = """## Kinds of leftovers

A leftover that blocks makes the verdict `undetermined`, unless `--allow KIND` or `--known FILE` accepts it.
One for information does not, unless `--fail-on KIND` asks for it. [EVIDENCE](EVIDENCE.md) has what each proves.

Examples are in Turtle, of an ontology or of data, with the classes `:Pump` and `:Machine`.

| kind | | what it is | example | remedy |
|---|---|---|---|---|
"""
_EXIT_CODES = """## Exit codes

| code | meaning |
|---|---|
"""
_MEANINGS = {
    EXIT_CODES[Verdict.CONSISTENT]: "consistent; the gate accepted the whole batch",
    EXIT_CODES[Verdict.INCONSISTENT]: "inconsistent; the gate refused the batch",
    2: "usage: the command line is wrong",
    EXIT_CODES[
        Verdict.UNDETERMINED
    ]: "undetermined: something was not understood or not decided, and the rest does not contradict",
    4: "operational: a file, a store or a Java process cannot be used",
    5: "the gate accepted a part of the batch and quarantined the rest",
}


def commands(command: click.Command, context: click.Context) -> Iterator[str]:
    """The help of ``command`` and of those below it."""
    name = context.command_path
    yield f"### {name}\n\n```\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from commands(found, _context(found, context, below))


def _context(command: click.Command, above: click.Context | None, name: str) -> click.Context:
    width = {"max_content_width": WIDTH, "terminal_width": WIDTH}
    return click.Context(command, above, name, **{**command.context_settings, **width})


def exported(name: str) -> str:
    """Signature and docstring of the name ``name`` of `shiq`."""
    value = getattr(shiq, name)
    text = inspect.getdoc(value) or ""
    if isinstance(value, EnumMeta):
        shown = f"{name}: {', '.join(member.name for member in value)}"  # type: ignore[var-annotated]
    elif callable(value):
        shown = f"{name}{_signature(value)}"
    else:
        return f"### {name}\n\n{_WITHOUT_DOCSTRING[name]}\n"
    return f"### {name}\n\n```python\n{shown}\n```\n\n{_without_examples(text)}\n"


_WITHOUT_DOCSTRING = {
    "KINDS": "The kinds of leftovers, with what each is: the table below.",
    "__version__": "The version of the package.",
}


def _signature(value: object) -> str:
    """Parameters and result, one a line where one line is too long; none of a value's many fields."""
    try:
        signature = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    words = [_parameter(parameter) for parameter in signature.parameters.values()]
    if isinstance(value, type) and len(words) > MOST_SHOWN:
        return ""
    result = signature.return_annotation
    end = "" if result is inspect.Signature.empty or isinstance(value, type) else f" -> {result}"
    line = f"({', '.join(words)}){end}"
    return (
        line
        if len(line) <= WIDTH
        else "(\n" + "".join(f"    {word},\n" for word in words) + f"){end}"
    )


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
    default = re.sub(r"<function .*>|<factory>", "…", default)
    return f"{stars.get(parameter.kind, '')}{parameter.name}: {parameter.annotation}{default}"


def _without_examples(text: str) -> str:
    """A docstring without its doctest, its fields as a list: pages have examples of their own."""
    lines = text.partition(">>>")[0].rstrip().splitlines()
    return "\n".join(re.sub(r"^ *([\w*, ]+: )", r"* \1", line) for line in lines)


def page() -> str:
    """The text of docs/REFERENCE.md."""
    context = _context(cli, None, "shiq")
    parts = [_HEAD, "## Commands\n\n", "\n".join(commands(cli, context))]
    parts += ["\n## Python\n\n", "\n".join(map(exported, sorted(shiq.__all__, key=str.lower)))]
    kinds = (
        f"| `{kind}` | {'information' if kind in INFORMATIVE else 'blocks'} "
        f"| {_cell(text)} | {_cell(EXAMPLES[kind].shown)} | {_cell(EXAMPLES[kind].remedy)} |\n"
        for kind, text in KINDS.items()
    )
    codes = (f"| {code} | {text} |\n" for code, text in sorted(_MEANINGS.items()))
    return "".join([*parts, "\n", _EXIT_CODES, *codes, "\n", _KINDS, *kinds])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
