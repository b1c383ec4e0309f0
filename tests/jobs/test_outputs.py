"""An output never replaces an input, another output or a file of a store: every command, every
option that writes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import click
import pytest

from shiq.errors import UsageError
from shiq.jobs.cli import cli
from shiq.jobs.commands.places import STORE, GuardedCommand, InputParameter, OutputParameter
from shiq.jobs.outputs import (
    FOLDERS,
    InputPlace,
    OutputKind,
    OutputPlace,
    check_outputs,
    normalise_address,
)
from tests.command_line import shiq

#: Parameters whose values are texts and name no place, by command where one name is both.
TEXTS = {
    "heap",
    "host",
    "hosts",
    "token",
    "master",
    "individual",
    "owner",
    "peers",
    "criteria",
    "engines",
    "universities",
    "variants",
    "batches",
}
TEXTS |= {
    "stream",
    "capacity",
    "max_quarantine",
    "notify",
    "only",
    "explain",
    "head",
    "body_sources",
    "head_sources",
    "why",
    "eps",
    "cut",
    "audit",
    "options",
    "vocabulary",
}
MAPPING = (
    "@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> . "
    "@prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix : <urn:t#> .\n"
    ':m rml:logicalSource [ rml:source "s" ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ; '
    'rr:subjectMap [ rr:template "urn:{id}" ] .\n'
)


def commands(
    group: click.Command = cli, names: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command, by the names that lead to it."""
    if not isinstance(group, click.Group):
        yield names, group
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands(command, (*names, name))


COMMANDS = {" ".join(names): command for names, command in commands()}


def option_of(param: click.Parameter) -> str:
    long = [option for option in param.opts if option.startswith("--")]
    return long[0] if isinstance(param, click.Option) else param.human_readable_name


def named(command: click.Command, kind: type[click.ParamType]) -> list[click.Parameter]:
    return [param for param in command.params if isinstance(param.type, kind)]


WRITING = [
    (name, option_of(param))
    for name, command in COMMANDS.items()
    for param in named(command, OutputParameter)
]


def param_of(name: str, option: str) -> click.Parameter:
    return next(param for param in COMMANDS[name].params if option_of(param) == option)


def content_of(param: click.Parameter) -> str:
    return MAPPING if param.name == "mapping" else "{}"


def called(name: str, values: Mapping[str, object], folder: Path) -> list[str]:
    """A call of a command with these ``values`` by option, and what else it cannot do without."""
    options, arguments = list[str](), list[str]()
    for param in COMMANDS[name].params:
        option = option_of(param)
        value = values.get(option)
        if value is None and param.required:
            value = usual_value(param, folder)
        if value is not None:
            options += [option, str(value)] if isinstance(param, click.Option) else []
            arguments += [] if isinstance(param, click.Option) else [str(value)]
    return [*name.split(), *options, *arguments]


def usual_value(param: click.Parameter, folder: Path) -> object:
    """A value of a parameter that must have one: a place of its own."""
    if isinstance(param.type, (InputParameter, OutputParameter)):
        path = folder / f"usual-{param.name}"
        if isinstance(param.type, InputParameter):
            path.write_text(content_of(param))
        return path
    return next(iter(param.type.choices)) if isinstance(param.type, click.Choice) else 1


def made_store(folder: Path) -> Path:
    """What is seen to be a store, with a file that would be damaged."""
    (folder / "kg" / "tables").mkdir(parents=True)
    (folder / "kg" / "store.json").write_text("{}")
    return folder / "kg"


def refused(name: str, values: Mapping[str, object], folder: Path, *shown: str) -> None:
    """Calls a command, which refuses, names what is ``shown``, and leaves every file as it is."""
    arguments = called(name, values, folder)
    before = content(folder)
    done = shiq(*arguments, cwd=folder)
    assert done.returncode == 2, (arguments, done)
    for text in shown:
        assert text in done.stderr, (arguments, done.stderr)
    assert content(folder) == before, arguments


def content(folder: Path) -> dict[str, bytes | None]:
    found = sorted(folder.rglob("*"))
    return {
        str(path): None if path.is_dir() else path.read_bytes() for path in found if path.exists()
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_name_of_a_place_is_known_as_read_or_written(name: str) -> None:
    for param in COMMANDS[name].params:
        is_text = isinstance(param.type, (click.types.StringParamType, click.Path, click.File))
        if is_text and not isinstance(param.type, (InputParameter, OutputParameter)):
            assert param.name in TEXTS, (
                f"{name} {option_of(param)}: has it the type Reads or Writes, or is it a text (TEXTS)?"
            )
    assert isinstance(COMMANDS[name], GuardedCommand) or not named(COMMANDS[name], OutputParameter)


@pytest.mark.parametrize(("name", "option"), WRITING)
def test_no_output_replaces_an_input(name: str, option: str, tmp_path: Path) -> None:
    for number, source in enumerate(named(COMMANDS[name], InputParameter)):
        folder = tmp_path / str(number)
        (folder / "in").mkdir(parents=True)
        target = folder / "in.json"
        target.write_text(content_of(source))
        (folder / "link.json").symlink_to(target)
        (folder / "hard.json").hardlink_to(target)
        for other in (
            target,
            "in.json",
            "in/../in.json",
            "./in.json",
            "link.json",
            folder / "hard.json",
        ):
            refused(
                name, {option_of(source): target, option: other}, folder, option_of(source), option
            )


@pytest.mark.parametrize(("name", "option"), WRITING)
def test_no_output_lies_in_a_store_or_where_nothing_can_be(
    name: str, option: str, tmp_path: Path
) -> None:
    store = made_store(tmp_path)
    (tmp_path / "link").symlink_to(store / "tables")
    for target in (store / "new.json", "kg/tables/new.json", "link/new.json", store / "store.json"):
        if target != store / "store.json" or param_of(name, option).type.kind not in FOLDERS:  # type: ignore[attr-defined]
            refused(name, {option: target}, tmp_path, option, "store")
    if (
        param_of(name, option).type.kind in FOLDERS
        and param_of(name, option).type.kind is not OutputKind.STORE
    ):  # type: ignore[attr-defined]
        refused(name, {option: store}, tmp_path, option, "store")
    refused(
        name,
        {option: tmp_path / "missing" / "new.json"},
        tmp_path,
        option,
        "there is no folder",
        "mkdir -p",
    )
    refused(name, {option: "/proc/new.json"}, tmp_path, option, "cannot be written")


@pytest.mark.parametrize(
    "name", [name for name, command in COMMANDS.items() if len(named(command, OutputParameter)) > 1]
)
def test_no_two_outputs_are_one(name: str, tmp_path: Path) -> None:
    for first, second in combinations(map(option_of, named(COMMANDS[name], OutputParameter)), 2):
        refused(name, {first: tmp_path / "x.json", second: "x.json"}, tmp_path, first, second)


@pytest.mark.parametrize(
    ("name", "values", "shown"),
    [
        ("gate", {"--quarantine": "q.nt", "--json": "q.nt.why.json"}, ("--quarantine", "--json")),
        (
            "gate",
            {"--insert": "q.nt.why.json", "--quarantine": "q.nt"},
            ("--quarantine", "--insert"),
        ),
        (
            "gate",
            {"--tolerated": "q.nt.why.json", "--quarantine": "./q.nt"},
            ("--quarantine", "--tolerated"),
        ),
        (
            "gate",
            {"--policy": "q.nt.why.json", "--quarantine": "q.nt"},
            ("--quarantine", "--policy"),
        ),
        (
            "index",
            {"ABOX": "q.nt.why.json", "--set-aside-known": "q.nt"},
            ("--set-aside-known", "ABOX"),
        ),
        (
            "index",
            {"--store": "new", "--set-aside-known": "new/known.nt"},
            ("--set-aside-known", "--store"),
        ),
        ("index", {"--store": "out", "--tbox": "out/verdict.json"}, ("--store", "--tbox")),
        ("check", {"--report": "out/", "--json": "out/verdict.json"}, ("--report", "--json")),
        (
            "check",
            {"--report": "out", "--insert": "out/tables/conflicts.parquet"},
            ("--report", "--insert"),
        ),
        (
            "report",
            {"VERDICT.JSON": "out/verdict.json", "--report": "out/"},
            ("--report", "VERDICT.JSON"),
        ),
        (
            "stream discover",
            {"--report": "out", "--rules": "out/rules.md"},
            ("--report", "--rules"),
        ),
        (
            "stream discover",
            {"--entailments": "state/e", "--checkpoint": "state"},
            ("--entailments", "--checkpoint"),
        ),
        (
            "stream enrich",
            {"--entries": "out/e.delta", "--out": "out/e.delta/rows"},
            ("--entries", "--out"),
        ),
        ("stream enrich", {"--mapping": "m.ttl", "--out": "s"}, ("--mapping", "--out")),
        (
            "stream rules",
            {"PROGRAM.lp…": "out/verdict.json", "--checkpoint": "out"},
            ("--checkpoint", "PROGRAM.lp"),
        ),
        ("check", {"--insert": "out", "--report": "out/deep/x.md"}, ("--report", "--insert")),
        ("check", {"--catalog": "catalog.json", "--json": "upper.owl"}, ("--catalog", "--json")),
        ("check", {"--insert": "table:delta.`out`", "--json": "out/x"}, ("--json", "--insert")),
        (
            "check",
            {"--lineage": "q.nt.why.json", "--insert": "q.nt.why.json"},
            ("--lineage", "--insert"),
        ),
    ],
)
def test_what_follows_from_a_name_counts(
    name: str, values: dict[str, str], shown: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "out" / "tables").mkdir(parents=True)
    for file in (
        "out/verdict.json",
        "q.nt.why.json",
        "out/tables/conflicts.parquet",
        "out/rules.md",
        "s",
        "upper.owl",
    ):
        (tmp_path / file).write_text("{}")
    (tmp_path / "catalog.json").write_text('{"urn:upper": "upper.owl"}')
    (tmp_path / "m.ttl").write_text(MAPPING)
    (tmp_path / "out" / "deep").mkdir()
    refused(name, values, tmp_path, *shown)


def test_a_batch_of_several_files_has_a_folder_for_each_side(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    for file in ("a.nt", "good/1-b.nt", "b.nt"):
        (tmp_path / file).write_text("")
    batch = ["gate", "--store", "kg", "-i", "good/1-b.nt", "-i", "b.nt"]
    done = shiq(*batch, "--accepted", "good", "--quarantine", "bad", cwd=tmp_path)
    assert (done.returncode, "--accepted" in done.stderr, "--insert" in done.stderr) == (
        2,
        True,
        True,
    )
    done = shiq(
        "gate", "--store", "kg", "-i", "a.nt", "-i", "b.nt", "--accepted", "b.nt", cwd=tmp_path
    )
    assert (done.returncode, "--accepted b.nt" in done.stderr) == (2, True)
    done = shiq(
        "gate",
        "--store",
        "kg",
        "-i",
        "a.nt",
        "-i",
        "b.nt",
        "--accepted",
        "o",
        "--json",
        "o/0-a.nt",
        cwd=tmp_path,
    )
    assert (done.returncode, "are both o/0-a.nt" in done.stderr) == (2, True)


def apart(read: str, written: str, kind: OutputKind = OutputKind.FILE) -> None:
    check_outputs([InputPlace("--in", read)], [OutputPlace("--out", written, kind)])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3://bucket/kg", "s3a://bucket//kg/"),
        ("s3://bucket/kg", "S3://BUCKET/a/../kg"),
        ("s3://bucket/kg", "s3://bucket/./kg"),
        ("s3://bucket/k%67", "s3://bucket/kg"),
        ("abfs://c@a/kg", "abfss://c@a/kg"),
        ("hdfs://host/kg", "hdfs://HOST:8020/kg"),
        ("kafka://a:9092,b/t", "kafka://B,a/t"),
    ],
)
def test_addresses_have_a_normal_form(one: str, other: str) -> None:
    assert normalise_address(one) == normalise_address(other)
    for read, written in ((one, other), (other, one)):
        with pytest.raises(UsageError, match=r"--out .* would replace what --in reads"):
            apart(read, written, OutputKind.ROWS)
        with pytest.raises(UsageError, match=r"--out .* lies in .* which --in reads"):
            apart(read, f"{written}/more", OutputKind.STORE)
        with pytest.raises(UsageError, match=r"--out .* is no place for .* which --in reads"):
            apart(f"{read}/more", written, OutputKind.STORE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3://bucket/kg", "s3://bucket/KG"),
        ("s3://bucket/kg", "gs://bucket/kg"),
        ("s3://bucket/kg", "s3://other/kg"),
        ("s3://bucket/kg", "s3://bucket/kg2"),
        ("kafka://a/t", "kafka://a/t2"),
        ("kafka://a:9093/t", "kafka://a/t"),
    ],
)
def test_other_addresses_are_other_places(one: str, other: str) -> None:
    apart(one, other, OutputKind.STORE)
    apart(other, one, OutputKind.ROWS)


def test_a_store_may_be_named_as_a_file_address(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for read in (str(tmp_path / "data"), (tmp_path / "data").as_uri()):
        with pytest.raises(UsageError, match="would replace"):
            apart(read, (tmp_path / "data").as_uri(), OutputKind.STORE)


def test_what_is_no_file_replaces_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("-", os.devnull, "/dev/stdout", "/dev/fd/1", str(tmp_path / "pipe")):
        apart(name, name)
        check_outputs([], [OutputPlace("--one", name), OutputPlace("--two", name)])
    with (tmp_path / "in.nt").open("w") as file:
        before = os.dup(0)
        os.dup2(file.fileno(), 0)
        try:
            for read in ("-", "/dev/stdin"):
                with pytest.raises(UsageError, match="would replace"):
                    apart(read, str(tmp_path / "in.nt"))
        finally:
            os.dup2(before, 0)
            os.close(before)


def test_what_can_be_written_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.nt").write_text("in")
    (tmp_path / "old").write_text("old")
    (tmp_path / "old-folder").mkdir()
    (tmp_path / "link").symlink_to("new-of-a-link")
    for name in ("new", "old", "link", str(tmp_path / "new")):
        apart("in.nt", name)
        apart("in.nt", name, OutputKind.ROWS)
    for kind in FOLDERS:
        for name in ("new", "old-folder", "old-folder/new", "new/"):
            apart("in.nt", name, kind)
        with pytest.raises(UsageError, match="--out old is a file"):
            apart("in.nt", "old", kind)
        with pytest.raises(UsageError, match="there is no folder new"):
            apart("in.nt", "new/deep", kind)
    with pytest.raises(UsageError, match="--out old-folder is a folder"):
        apart("in.nt", "old-folder")
    with pytest.raises(UsageError, match="name too long"):
        apart("in.nt", "x" * 250)
    with pytest.raises(UsageError, match="there is no folder"):
        apart("in.nt", "s3://bucket/x.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "in.nt",
        "link",
        "old",
        "old-folder",
    ]
    assert (tmp_path / "old").read_text() == "old"


def test_a_store_that_is_not_finished_is_a_store(tmp_path: Path) -> None:
    store = made_store(tmp_path)
    (store / "store.json").unlink()
    apart("in.nt", str(store / "x"))
    (store / "lock").touch()
    with pytest.raises(UsageError, match="lies in the store"):
        apart("in.nt", str(store / "x"))
    shutil.rmtree(store / "tables")
    apart("in.nt", str(store / "x"))


def test_a_store_in_the_place_of_a_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    made_store(tmp_path)
    done = shiq("check", "--tbox", "t.ofn", "--abox", "kg", "--insert", "i.nt", cwd=tmp_path)
    assert done.returncode == 2
    assert "kg is a store. Give it by --store; or 'shiq export --store kg > data.nt'" in done.stderr


def test_an_option_that_is_not_guarded_is_seen(tmp_path: Path) -> None:
    """What the tests above rest on: a command that writes and does not look is not refused."""

    @click.command(cls=GuardedCommand)
    @click.option("--read", type=InputParameter())
    @click.option("--write", type=OutputParameter())
    def guarded(read: str, write: str) -> None:
        Path(write).write_text("lost")

    @click.command()
    @click.option("--read", type=STORE)
    @click.option("--write", type=OutputParameter())
    def careless(read: str, write: str) -> None:
        Path(write).write_text("lost")

    (tmp_path / "x").write_text("x")
    given = ["--read", str(tmp_path / "x"), "--write", str(tmp_path / "x")]
    with pytest.raises(UsageError, match=r"--write .* would replace what --read reads"):
        guarded.main(given, standalone_mode=False)
    assert (tmp_path / "x").read_text() == "x"
    careless.main(given, standalone_mode=False)
    assert (tmp_path / "x").read_text() == "lost"
