"""Parameters that name files, folders and stores; before it runs, a command checks its outputs
against its inputs.

Every parameter that names a file, folder or store has the type `InputParameter` or
`OutputParameter`; a command of the class `GuardedCommand` compares them before it does anything.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from shiq.errors import InputError
from shiq.files import report_write_errors
from shiq.inputs.formats import FORMAT_NAMES
from shiq.inputs.sources import STDIN, register_standard_input
from shiq.jobs.configuration import read_defaults
from shiq.jobs.option_fields import Heading
from shiq.jobs.outputs import FOLDERS, InputPlace, OutputKind, OutputPlace, check_outputs, rows_kind
from shiq.jobs.store.files import is_store
from shiq.remote.place import is_address, is_endpoint

#: What finds the files that a named one refers to, as a catalog does.
FindReferences: TypeAlias = Callable[[str], Callable[[Path], bool]]
#: Gives by the name of an output and the parameters of the command what is written: each with its
#: name and kind.
ListOutputs: TypeAlias = Callable[[str, Mapping[str, Any]], Iterable[tuple[str, OutputKind]]]

_READ, _WRITTEN = f"{__name__}.inputs", f"{__name__}.outputs"
#: Under this name a command notes the syntax of standard input that was asked for.
FORMAT = f"{__name__}.format"


class _LocationParameter(click.Path):
    """Click parameter type for the name of a file, folder, store or address: a text, or a path if
    ``path_type`` is `Path`.
    """

    names_folder = False

    def __init__(self, path_type: type[str] | type[Path] = str) -> None:
        super().__init__(readable=False, path_type=path_type)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete names of files, or of folders alone."""
        return [CompletionItem(incomplete, type="dir" if self.names_folder else "file")]

    def remember_value(
        self, key: str, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> None:
        """Record the name ``value`` in the command's context under ``key`` (inputs or outputs), so
        that outputs that would replace an input can be refused.
        """
        if ctx is not None and param is not None and os.fspath(value):
            ctx.meta.setdefault(key, []).append((self, _option_name(param), os.fspath(value)))


class InputKind(Enum):
    """Kind of an input: a single file or folder, facts (ontology, base or batch), or a store.

    FILE: a single file or folder.
    FACTS: an ontology, base or batch. ``-`` is standard input; a prefix of an object store, or a
    folder of Hadoop's file system, stands for the files below it.
    STORE: a store, which the command may also extend.
    """

    FILE = "a file"
    FACTS = "facts"
    STORE = "a store"


class InputParameter(_LocationParameter):
    """Click parameter type for the name of a file, folder, table or address to read. ``leads_to``:
    finds the further files that a named catalog or mapping makes the command read.
    """

    def __init__(
        self,
        path_type: type[str] | type[Path] = str,
        leads_to: FindReferences | None = None,
        kind: InputKind = InputKind.FILE,
    ) -> None:
        super().__init__(path_type)
        self.leads_to, self.kind = leads_to, kind
        self.names_folder = kind is InputKind.STORE

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse the name of a store where a file is meant; record the name, so that no output
        replaces this input.
        """
        is_file = self.kind is not InputKind.STORE and not is_endpoint(os.fspath(value))
        if is_file and is_store(Path(value)):
            holds = f"'shiq export --store {value} > data.nt' writes what it holds as a file."
            self.fail(f"{value} is a store. Give it by --store; or {holds}", param, ctx)
        self.remember_value(_READ, value, param, ctx)
        return super().convert(value, param, ctx)


class OutputParameter(_LocationParameter):
    """Click parameter type for the name of a file, folder, table or address to write.

    kind: kind of the file or folder of that name.
    list_outputs: lists all outputs if there are more than one; the first has the given name.
    """

    def __init__(
        self,
        kind: OutputKind = OutputKind.FILE,
        path_type: type[str] | type[Path] = str,
        list_outputs: ListOutputs | None = None,
    ) -> None:
        super().__init__(path_type)
        self.kind, self.names_folder = kind, kind in FOLDERS
        self.list_outputs = list_outputs or (lambda name, parameters: [(name, kind)])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Record the name of an output, which is compared with all inputs before the command runs."""
        self.remember_value(_WRITTEN, value, param, ctx)
        return super().convert(value, param, ctx)


class GroupedOption(click.Option):
    """Option that is listed under ``heading`` in a help text."""

    def __init__(self, *arguments: Any, heading: Heading = Heading.COMMAND, **how: Any) -> None:
        super().__init__(*arguments, **how)
        self.heading = heading


class GuardedCommand(click.Command):
    """Command that refuses, before it runs, outputs that would replace an input, another output or
    a store.

    Standard input is copied to a file, and the versions of remote files are fixed, before the
    command reads them.
    """

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options to a help text, under their headings."""
        groups: dict[Heading, list[tuple[str, str]]] = {heading: [] for heading in Heading}
        for param in self.get_params(ctx):
            if record := param.get_help_record(ctx):
                heading = param.heading if isinstance(param, GroupedOption) else Heading.COMMAND
                groups[heading].append(record)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading.value):
                    formatter.write_dl(records)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **how: Any,
    ) -> click.Context:
        """Make Click's context of a call, with defaults from the configuration file."""
        asks_help = {"-h", "--help"} & set(args)
        if parent is not None and not how.get("resilient_parsing") and not asks_help:
            path, groups = [info_name or ""], [parent]
            while (above := groups[0].parent) is not None:
                path, groups = [groups[0].info_name or "", *path], [above, *groups]
            how.setdefault("default_map", read_defaults(self, path, groups, args))
        return super().make_context(info_name, args, parent, **how)

    def invoke(self, ctx: click.Context) -> Any:
        """Replace prefixes of object stores by their files, refuse outputs that would replace an
        input, copy standard input to a file, then run the command.
        """
        named = [
            (option, name)
            for kind, option, name in ctx.meta.get(_READ, ())
            if kind.kind is InputKind.FACTS
        ]
        standard = [option for option, name in named if name == STDIN]
        syntax = ctx.meta.get(FORMAT)
        if len(standard) > 1:
            raise click.UsageError(
                f"{' and '.join(standard)} are both standard input, which is read once: give one a file.",
                ctx,
            )
        if syntax is not None and not standard:
            raise click.UsageError(
                "--format is the syntax of standard input: it goes with an input named -.", ctx
            )
        with ExitStack() as stack:
            if any(is_address(name) or is_endpoint(name) for _, name in named):
                self._expand_prefixes(ctx, stack)
            self._check_outputs(ctx)
            if standard:
                stack.enter_context(reading_standard_input(syntax))
            return super().invoke(ctx)

    def _expand_prefixes(self, ctx: click.Context, stack: ExitStack) -> None:
        """Replace prefixes of object stores by the files below them, each fixed to its present
        version; each SPARQL endpoint is queried only once.
        """
        from shiq.jobs.checking.inputs import expand_folders
        from shiq.remote.inputs import pin_inputs

        stack.enter_context(pin_inputs())
        for param in self.params:
            if (
                isinstance(param.type, InputParameter)
                and param.type.kind is InputKind.FACTS
                and param.name
                and isinstance(given := ctx.params.get(param.name), tuple)
            ):
                ctx.params[param.name] = tuple(expand_folders(given))

    def _check_outputs(self, ctx: click.Context) -> None:
        """Refuse outputs that would replace an input, another output or a store."""
        outputs = [
            OutputPlace(option, written, kind, is_derived=number > 0)
            for kind_of, option, name in ctx.meta.get(_WRITTEN, ())
            for number, (written, kind) in enumerate(kind_of.list_outputs(name, ctx.params))
        ]
        if outputs:
            inputs = [
                InputPlace(option, name, kind.leads_to and kind.leads_to(name))
                for kind, option, name in ctx.meta.get(_READ, ())
            ]
            check_outputs(inputs, outputs)


def _option_name(param: click.Parameter) -> str:
    """Long name of an option, as messages show it."""
    if isinstance(param, click.Option):
        return max(param.opts, key=lambda option: option.startswith("--"))
    return param.human_readable_name


def catalog_references(catalog: str) -> Callable[[Path], bool]:
    """Make a test whether a file is one that ``catalog`` (a catalog of imports, or a folder of
    ontologies) refers to.
    """
    # Loaded where one is given.
    from shiq.inputs.catalog import read_catalog

    return read_catalog(catalog).leads_to


READS, READS_PATH = InputParameter(), InputParameter(Path)
INPUTS, STORE = InputParameter(kind=InputKind.FACTS), InputParameter(kind=InputKind.STORE)
CATALOG = InputParameter(leads_to=catalog_references)
WRITES, WRITES_FOLDER, WRITES_ROWS = (
    OutputParameter(),
    OutputParameter(OutputKind.FOLDER),
    OutputParameter(
        OutputKind.ROWS, list_outputs=lambda name, parameters: [(name, rows_kind(name))]
    ),
)


# Standard input as an input of a command: read once, to its end, before anything else is done.


@contextmanager
def reading_standard_input(syntax: str | None) -> Iterator[None]:
    """Context manager: ``-`` stands for a temporary file with the content of standard input.
    Raises: OperationalError, also if it is empty.
    """
    if sys.stdin is None:
        raise InputError(
            "standard input is closed", "Give - something to read, by a pipe or by < FILE."
        )
    with tempfile.TemporaryDirectory(prefix="shiq-") as folder:
        path = Path(folder, "stdin")
        with (
            report_write_errors(path, "Make room there, or name another folder by TMPDIR."),
            path.open("wb") as file,
        ):
            shutil.copyfileobj(sys.stdin.buffer, file)
        if not path.stat().st_size:
            # A command that failed before the pipe looks the same as one with nothing to say.
            raise InputError(
                "standard input ended without a byte",
                "Did the command before the pipe fail? Where there is nothing to read, give an empty file instead of -.",
            )
        register_standard_input(path, FORMAT_NAMES[syntax or "ntriples"])
        yield
