"""Write reports in the formats asked for. The JSON is written last, so that a program waiting for
it finds the others complete.

Check JSON documents of shiq against their JSON Schema (2020-12).

>>> kinds = {"properties": {"verdict": {"enum": ["yes", "no"]}}, "required": ["reason"]}
>>> schema_problems({"verdict": "maybe"}, kinds)
["verdict: 'maybe' is not one of ['yes', 'no']", "the document: 'reason' is a required property"]
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shiq.answers.result import Conflict
from shiq.errors import InputError, OperationalError, UsageError
from shiq.files import json_text, write_atomically
from shiq.jobs.pages import escape_and_cut
from shiq.jobs.reports.html import html_page
from shiq.jobs.reports.junit import junit
from shiq.jobs.reports.markdown import markdown
from shiq.jobs.reports.report import Report, read_report
from shiq.jobs.reports.sarif import Baseline, baseline_of, sarif
from shiq.jobs.reports.shacl import shacl
from shiq.jobs.reports.tables import COLUMNS, parquet_tables

if TYPE_CHECKING:
    from jsonschema import ValidationError  # type: ignore[import-untyped, unused-ignore]


#: Problems named of one document; characters of each, which may quote a part of the document.
PROBLEMS: Final = 10
CHARACTERS: Final = 300


@cache
def schema() -> dict[str, Any]:
    """Read the published JSON schema of answers."""
    return json.loads(Path(__file__).with_name("verdict.schema.json").read_text(encoding="utf-8"))


def answer_problems(document: object) -> list[str]:
    """List the differences between an answer and the published schema; empty if it fits."""
    return schema_problems(document, schema())


def schema_problems(document: object, rules: Mapping[str, Any]) -> list[str]:
    """List the differences between ``document`` and the JSON schema ``rules`` as "place: what is
    wrong", at most `PROBLEMS`.
    """
    # Loaded where a document is read: no check needs it.
    from jsonschema import Draft202012Validator

    errors = _leaf_errors(Draft202012Validator(rules).iter_errors(document))
    return [
        f"{'/'.join(map(str, error.absolute_path)) or 'the document'}: "
        f"{escape_and_cut(error.message, CHARACTERS)}"
        for error in islice(errors, PROBLEMS)
    ]


def _leaf_errors(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """Replace an error about a schema with alternatives (anyOf) by the errors of the alternative
    that fits best.
    """
    for error in errors:
        branches: dict[object, list[ValidationError]] = {}
        for inner in error.context or ():
            branches.setdefault(inner.schema_path[0], []).append(inner)
        if branches:
            nearest = min(branches.values(), key=len)
            yield from _leaf_errors(nearest)
        else:
            yield error


#: What a report can be written as, by the end of its file's name.
FORMATS: Final[Mapping[str, Callable[[Report], str]]] = {
    ".html": html_page,
    ".md": markdown,
    ".sarif": sarif,
    ".junit.xml": junit,
    ".shacl.ttl": shacl,
    ".json": lambda report: json_text(report.document),
}
#: A folder with all of them.
FOLDER: Final = "/"
#: In a folder: the answer itself, and the tables.
VERDICT, TABLES = "verdict.json", "tables"


@dataclass(frozen=True, slots=True)
class Target:
    """File or folder that a report is written to. ``format``: a key of `FORMATS`, or `FOLDER`."""

    path: Path
    format: str

    @property
    def answer(self) -> Path | None:
        """JSON file that this target writes, if any."""
        return (
            self.path / VERDICT
            if self.format == FOLDER
            else self.path
            if self.format == ".json"
            else None
        )

    @property
    def inner_files(self) -> list[Path]:
        """Files that this target writes into its folder."""
        if self.format != FOLDER:
            return []
        names = [f"report{end}" for end in FORMATS if end != ".json"]
        return [
            self.path / name
            for name in (VERDICT, *names, *(f"{TABLES}/{name}.parquet" for name in COLUMNS))
        ]


def read_target(name: str) -> Target:
    """Determine the format of the report file ``name`` by its suffix. The target is a folder if
    ``name`` is an existing folder, ends with a slash, or has no suffix.

    Raises: UsageError for an end that is not known.
    """
    path = Path(name)
    if name.endswith("/") or path.is_dir():
        return Target(path, FOLDER)
    for end in sorted(FORMATS, key=len, reverse=True):
        if path.name.lower().endswith(end) and path.name.lower() != end:
            return Target(path, end)
    if not path.suffix:
        return Target(path, FOLDER)
    raise UsageError(
        f"{name}: no report has a name that ends so",
        f"Known: {', '.join(FORMATS)}; or a folder, with a slash at its end, for all.",
    )


def check_targets(targets: Iterable[Target]) -> None:
    """Check before the work that reports can be written, and delete the answers of an earlier run
    there. Raises: OperationalError.
    """
    for target in targets:
        folder = target.path if target.format == FOLDER else target.path.parent
        try:
            if target.format == FOLDER:
                (folder / TABLES).mkdir(parents=True, exist_ok=True)
            elif not folder.is_dir():
                raise OperationalError(
                    f"{target.path}: there is no folder {folder}", "Make it first, or name another."
                )
            answer = target.answer
            if answer is not None:
                with contextlib.suppress(FileNotFoundError):
                    answer.unlink()
        except OSError as error:
            raise OperationalError(
                f"{target.path}: cannot be written ({error.strerror})", "Name another place."
            ) from error


def write_reports(
    document: Mapping[str, Any],
    targets: Sequence[Target],
    conflicts: Sequence[Conflict] | None = None,
    baseline: Baseline | None = None,
) -> None:
    """Write the answer ``document`` to each of ``targets``, every file in one step, the JSON after
    all others.

    conflicts: those of ``document`` as values; else they are read from it.
    baseline: what SARIF compares its results with

    Raises: OperationalError.
    """
    if not targets:
        return
    report = read_report(document, conflicts)
    formats: Mapping[str, Callable[[Report], str]] = {
        **FORMATS,
        ".sarif": partial(sarif, baseline=baseline),
    }
    for target in targets:
        if target.format == FOLDER:
            _write_folder(report, target.path, formats)
        elif target.answer is None:
            write_atomically(target.path, formats[target.format](report))
    for target in targets:
        if target.answer is not None:
            write_atomically(target.answer, FORMATS[".json"](report))


def _write_folder(
    report: Report, folder: Path, formats: Mapping[str, Callable[[Report], str]]
) -> None:
    """Write the report in each of ``formats`` except JSON, and its tables, into ``folder``."""
    for end, text in formats.items():
        if end != ".json":
            write_atomically(folder / f"report{end}", text(report))
    for name, data in parquet_tables(report).items():
        write_atomically(folder / TABLES / f"{name}.parquet", data)


def read_answer(path: Path) -> dict[str, Any]:
    """Read an answer that a command wrote as JSON. Raises: InputError."""
    remedy = "Name a file that shiq check, certify, index or gate wrote with --json or --report."
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: {error}", remedy) from error
    wrong = answer_problems(document)
    if wrong:
        raise InputError(f"{path} is no answer that can be read: {'; '.join(wrong[:3])}", remedy)
    return dict(document)


def read_baseline(path: Path) -> Baseline:
    """Read the results of an earlier run, from its SARIF or its JSON answer. Raises: InputError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(document, dict) and "runs" in document:
            return baseline_of(document)
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} is no baseline: {error}", "Name a SARIF file or a JSON answer of shiq."
        ) from error
    return baseline_of(json.loads(sarif(read_report(read_answer(path)), is_capped=False)))
