"""Defaults of options from a file: ``shiq.toml`` (or ``shiq.json``) in the current folder.

Each table has the name of a command, ``[stream.rules]`` too; its keys are long options without the
dashes. What the command line says counts instead. ``shiq init`` writes such a file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Final

import click

from shiq.errors import UsageError
from shiq.files import report_write_errors, write_atomically
from shiq.jobs.leftover_waivers import read_tables

#: The files that are looked for, in this order, and the variable that names another.
FILE_NAMES: Final = ("shiq.toml", "shiq.json")
VARIABLE: Final = "SHIQ_CONFIG"
#: Options of the command line that a default gives way to, by command and option.
EXCLUDED: Final[Mapping[tuple[str, ...], frozenset[str]]] = {
    ("check", "store"): frozenset({"--tbox", "-t", "--abox", "-a"}),
    ("check", "tbox"): frozenset({"--store", "-s"}),
    ("check", "abox"): frozenset({"--store", "-s"}),
}


def read_defaults(
    command: click.Command,
    path: Sequence[str],
    groups: Sequence[click.Context],
    words: Sequence[str] = (),
) -> dict[str, Any]:
    """Read defaults for the options of a ``command`` from the configuration file, by parameter;
    name the file on stderr if a default was taken from it. ``path``: names of the command and of
    the groups that it is in.

    groups: the context of each group that a name of ``path`` is a command of.
    words: the command line, before whose options those defaults give way that they exclude.
    Raises: UsageError, which names the file and key; InputError.
    """
    named = os.environ.get(VARIABLE)
    file = Path(named) if named else next((f for f in map(Path, FILE_NAMES) if f.is_file()), None)
    if file is None:
        return {}
    table: Any = read_tables(file, "docs/COMMANDS.md")[0]
    for depth, (name, group) in enumerate(zip(path, groups), 1):
        known = group.command.list_commands(group) if isinstance(group.command, click.Group) else []
        if unknown := sorted(set(table).difference(known)):
            above = "".join(f"{part}." for part in path[: depth - 1])
            raise UsageError(
                f"{file}: {above}{unknown[0]}: no command of shiq has this name",
                f"Known: {', '.join(f'[{above}{part}]' for part in known)}.",
            )
        table = table.get(name, {})
        if not isinstance(table, dict):
            raise UsageError(f"{file}: {'.'.join(path[:depth])} is no table", f"Write [{name}].")
    given = {word.partition("=")[0] for word in words}
    out = {key for key in table if given & EXCLUDED.get((*path, key), frozenset())}
    found = _command_defaults(file, command, table, ".".join(path))
    found = {name: value for name, value in found.items() if name not in out}
    if found:
        shown = " ".join(f"--{key}" for key in table if key not in out)
        click.echo(f"from {file}: {shown}", err=True)
    return found


def _command_defaults(
    file: Path, command: click.Command, table: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """Read the defaults of one command's options from its table in the configuration file. Raises:
    UsageError for unknown ones.
    """
    options = {
        option.removeprefix("--"): param
        for param in command.params
        if isinstance(param, click.Option)
        for option in param.opts
        if option.startswith("--")
    }
    found = {}
    for key, value in table.items():
        param = options.get(key)
        if param is None or param.name is None:
            raise UsageError(
                f"{file}: [{name}] {key}: shiq {name.replace('.', ' ')} has no option --{key}",
                f"Known: {', '.join(sorted(options))}.",
            )
        if param.multiple != isinstance(value, list):
            remedy = f'Write {key} = ["…"].' if param.multiple else "Give one value."
            raise UsageError(f"{file}: [{name}] {key}: not a value of --{key}", remedy)
        if param.is_flag and not isinstance(value, bool):
            raise UsageError(f"{file}: [{name}] {key}: neither true nor false", "Write true.")
        each = value if isinstance(value, list) else [value]
        if not param.is_flag and any(isinstance(x, bool | list | dict | NoneType) for x in each):
            raise UsageError(
                f"{file}: [{name}] {key}: not a value of --{key}", "Write a text or a number."
            )
        found[param.name] = (
            [*map(str, each)] if param.multiple else value if param.is_flag else str(value)
        )
    return found


CONFIGURATION = """\
# Defaults of shiq's options in this folder; the command line counts instead. Keys are long options without dashes.

[index]
tbox = [{tbox}]
store = "{store}"

[check]
store = "{store}"
timeout = "30m"

[gate]
store = "{store}"
policy = "policy.toml"
mode = "split"
accepted = "accepted.nq"
quarantine = "quarantine.nq"
max-quarantine = "5%"
"""
POLICY = """\
# Which conflicts hold a batch up: docs/GATE.md.

[severity]                  # fail (the default), warn or info, by pattern or by rule
# "cax-dw" = "warn"

# [[waiver]]                # until a day, with somebody who answers for it
# pattern = "cax-dw-1234abcd"
# owner = "ann@example.org"
# reason = "the feed mends it in spring"
# expires = 2030-01-31
"""
WORKFLOW = """\
name: shiq
on: [pull_request]
jobs:
  consistent:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "3.12"}}
      - run: pip install 'shiq[hermit]'
      - run: shiq certify {files} --report report/
      - if: always()
        run: cat report/report.md >> "$GITHUB_STEP_SUMMARY"
"""
FILES: Final = {
    "shiq.toml": CONFIGURATION,
    "policy.toml": POLICY,
    ".github/workflows/shiq.yml": WORKFLOW,
}


def write_configuration(tbox: Sequence[str], data: Sequence[str], store: str) -> list[str]:
    """Write the configuration `FILES` for an ontology, data and a store into the current folder.
    Returns their names.

    Raises: UsageError where one is there, or a name cannot stand in a script; OperationalError.
    """
    if there := [name for name in FILES if Path(name).exists()]:
        remedy = "Nothing was written. Move it away, or edit it."
        raise UsageError(f"{', '.join(there)}: already there", remedy)
    for name in (*tbox, *data, store):
        if (
            not name.isprintable()
            or set(name) & set("\"'\\$`;&|<>(){}[] #*?!")
            or name.startswith(("-", "~"))
        ):
            raise UsageError(
                f"{name!r}: a name with blanks, quotes or the like, which a script reads otherwise",
                "Rename it first.",
            )
    values = {
        "tbox": ", ".join(f'"{name}"' for name in tbox),
        "store": store,
        "files": " ".join((*tbox, *data)),
    }
    for name, text in FILES.items():
        with report_write_errors(Path(name)):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(Path(name), text.format(**values))
    return [*FILES]
