"""The commands `gate`, `lint` and `report` as calls.

This imports nothing of their code before one of them is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shiq.answers.result import Result
    from shiq.api import Session
    from shiq.inputs.sources import TextInput
    from shiq.jobs.gate import GateAnswer
    from shiq.jobs.lint import Lint

__all__ = ["gate", "lint", "report"]


def gate(
    insertions: str | Path | TextInput | Sequence[str | Path | TextInput],
    store: str | Path | Session,
    deletions: str | Path | TextInput | Sequence[str | Path | TextInput] = (),
    mode: str = "split",
    commit: bool = False,
    **settings: Any,
) -> GateAnswer:
    """Decide which part of a batch a store can take: ``answer.accepted`` and ``answer.set_aside``.

    Args:
        insertions: files, documents in memory (`shiq.TextInput`), or lists of them; the sides of
            a SPARQL update by `shiq.update_changes`.
        deletions: likewise.
        store: the path of a store, or an open one.
        mode: split sets lines aside that contradict or are not understood; reject accepts all
            lines or none.
        commit: take what is accepted into the store, in one step.
        settings: as in `shiq.check_insertions`; unit, aside, policy, identities and
            max_quarantine as in docs/GATE.md.

    Raises: UsageError, OperationalError.
    """
    from shiq.api import session_of
    from shiq.jobs.checking.inputs import list_sources
    from shiq.jobs.gate import gate as decide
    from shiq.jobs.gate.lines import batch_source

    files, gone = (
        list(map(batch_source, list_sources(given))) for given in (insertions, deletions)
    )
    with session_of(store) as session:
        return decide(session, files, gone, mode=mode, commit=commit, **settings)


def lint(
    ontology: str | Path | Sequence[str | Path],
    data: str | Path | Sequence[str | Path] = (),
    **settings: Any,
) -> Lint:
    """Read an ontology, and data by its vocabulary, and list what is not understood.

    Args:
        ontology: files, or lists of files.
        data: likewise.
        settings: allow, fail_on, known, classes, catalog, vocabulary, progress
            (`shiq.jobs.lint.lint`).

    Raises: UsageError, InputError.
    """
    from shiq.jobs.checking.inputs import list_sources
    from shiq.jobs.lint import lint as read

    files, facts = ([str(one) for one in list_sources(given)] for given in (ontology, data))
    return read(files, facts, **settings)


def report(answer: Result | GateAnswer | Mapping[str, Any] | str | Path, *targets: str) -> None:
    """Write the answer of a check or gate as reports: HTML, Markdown, SARIF, JUnit, SHACL or JSON.

    Args:
        answer: what a check or a gate gave, its JSON form, or the file that has this.
        targets: files by the end of their names (.html, .md, .sarif, .junit.xml, .shacl.ttl,
        .json), or a
            folder for all of them.

    Raises: UsageError, OperationalError.
    """
    from shiq.errors import UsageError
    from shiq.jobs.reports.write import check_targets, read_answer, read_target, write_reports

    named: Sequence[Any] = [read_target(str(target)) for target in targets]
    if not named:
        raise UsageError("no report is named", "Name a file, as tonight.html, or a folder.")
    if isinstance(answer, str | Path):
        answer = read_answer(Path(answer))
    check_targets(named)
    if isinstance(answer, Mapping):
        write_reports(answer, named)
    else:
        write_reports(answer.to_dict(), named, answer.conflicts)
