"""Shared steps of commands: progress, printed results, reports, JSON, history and alerts."""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

import click

import shiq
from shiq.answers.repair import RepairPlan
from shiq.answers.verdict import EXIT_CODES, Verdict
from shiq.deadline import report_stages_to
from shiq.errors import UsageError
from shiq.files import json_text, write_atomically
from shiq.inputs.reading import Place
from shiq.jobs.checking.options import is_unsliced_note
from shiq.jobs.commands.options import AlertOptions, HistoryOptions
from shiq.jobs.progress import ProgressLine
from shiq.jobs.text.results import file_prefixes, result_text, shorten

if TYPE_CHECKING:
    from shiq.jobs.gate.answer import GateAnswer
    from shiq.jobs.reports.locations import SideFiles

#: What a command answers; its JSON is made only where it is asked for.
Answer: TypeAlias = "shiq.Result | GateAnswer"
#: A dataclass of options, or a kind of answer.
T = TypeVar("T")


def output_level(quiet: bool, verbose: bool) -> int:
    """Level of output for `shiq.jobs.progress.ProgressLine`: 0 quiet, 1 normal, 2 verbose."""
    return 0 if quiet else 2 if verbose else 1


def write_json(target: str | None, value: dict[str, Any]) -> None:
    """Write ``value`` to the file ``target`` in one step, or to stdout for ``-``."""
    if target is None:
        return
    if target == "-":
        click.echo(json_text(value), nl=False)
    else:
        write_atomically(Path(target), json_text(value))


def answer_writer(
    reports: Sequence[str], json_file: str | None, baseline: str | None = None
) -> Callable[[Answer, Request, Mapping[str, str]], None]:
    """Make a function that writes a command's answer to the files that its options name:
    ``reports`` first and the JSON last. Its arguments: answer, request, labels of terms.

    baseline: an earlier answer, whose results SARIF compares with.

    Raises: UsageError, InputError, OperationalError if the reports cannot be written.
    """
    if baseline and not reports:
        raise UsageError(
            "--baseline says what SARIF compares with, and no --report is asked for",
            "Add --report FILE.sarif, or a folder.",
        )
    if not reports:
        return lambda answer, asked, labels: (
            write_json(json_file, complete_answer(answer.to_dict(), asked, labels))
            if json_file
            else None
        )
    from shiq.jobs.reports.write import check_targets, read_baseline, read_target, write_reports

    targets = [read_target(name) for name in reports]
    earlier = read_baseline(Path(baseline)) if baseline else None
    check_targets(targets)

    def write(answer: Answer, asked: Request, labels: Mapping[str, str]) -> None:
        whole = complete_answer(answer.to_dict(), asked, labels)
        write_reports(whole, targets, answer.conflicts, earlier)
        write_json(json_file, whole)

    return write


def run_check(
    call: Callable[[dict[str, Any]], Any], options: dict[str, Any], asked: Request
) -> int:
    """Run a check by ``call``, print its result, and write its reports and then its JSON. Returns
    the exit code. The entry ``lineage`` of ``options`` is the file for OpenLineage events.
    """
    if file := options.pop("lineage", None):
        # Loaded where it is asked for.
        from shiq.jobs.reports.lineage import RunEvents

        with RunEvents(Path(file), asked.command, asked.inputs) as events:
            return run_check(lambda settings: events.record_result(call(settings)), options, asked)
    after = FollowUp.pop_options(options)
    quiet, verbose, json_file = (
        options.pop("quiet"),
        options.pop("verbose"),
        options.pop("json_file"),
    )
    answer = answer_writer(options.pop("reports"), json_file, options.pop("baseline"))
    repairs_file = options.pop("repairs", None)
    asked_more = {"repairs": True} if repairs_file else {}
    is_printed = json_file != "-"
    so_far = answer_writer((), json_file if is_printed else None)
    progress = None if quiet else ProgressLine(output_level(quiet, verbose))
    early = EarlyAnswer[shiq.Result](
        (lambda found: found.verdict.value.upper()) if is_printed else None,
        lambda found: so_far(found, asked, found.labels),
        progress,
    )
    try:
        with report_stages_to(progress) if progress else nullcontext():
            result = call({**options, **asked_more, "progress": progress, "certain": early})
    except KeyboardInterrupt:
        # Of a store that was to be written nothing is there yet.
        if early.answer is None or asked.command != "check":
            raise
        note = "interrupted before anything was explained: the verdict stands"
        evidence = replace(early.answer.evidence, notes=(note,))
        result = replace(early.answer, evidence=evidence)
    finally:
        early.close()
        if progress:
            progress.close()
    result = _add_table_rows(result, asked)
    echo_unsliced_note(result)
    if is_printed:
        text = shorten_iris(result_text(result, verbose=verbose), asked.inputs)
        click.echo(text if early.answer is None else text.partition("\n")[2])
    _pack_disagreements(result, options)
    if repairs_file:
        _write_repairs(result, Path(repairs_file))
    answer(result, asked, result.labels)
    after.run(result, asked, EXIT_CODES[result.verdict])
    return EXIT_CODES[result.verdict]


@dataclass(frozen=True)
class FollowUp:
    """Actions after a command's answer: a row in the store's history, alerts and metrics.

    A failure is a warning; the answer stays.
    """

    history: HistoryOptions
    alerts: AlertOptions
    webhooks: Sequence[str]
    start: float

    @classmethod
    def pop_options(cls, options: dict[str, Any]) -> FollowUp:
        """Take the options for history, alerts and metrics out of ``options``. Raises: UsageError,
        InputError.
        """

        def pop_fields(owner: type[T]) -> T:
            known = (x.name for x in fields(owner))  # type: ignore[arg-type]
            return owner(**{name: options.pop(name) for name in known if name in options})

        history, alerts = pop_fields(HistoryOptions), pop_fields(AlertOptions)
        webhooks: Sequence[str] = ()
        if alerts.notify:
            # Loaded where somebody is to be told.
            from shiq.jobs.alerts import parse_address

            webhooks = [*map(parse_address, alerts.notify)]
        return cls(history, alerts, webhooks, time.monotonic())

    def run(self, answer: Answer, asked: Request, exit_code: int, *, has_row: bool = True) -> None:
        """Write the history row of ``answer`` unless ``has_row`` is False, send alerts if the exit
        code is not 0, and write metrics.
        """
        store = str(asked.inputs.get("store") or "")
        has_row &= (
            bool(store) and not self.history.no_history and asked.command in _COMMANDS_WITH_HISTORY
        )
        metrics = self.alerts.metrics
        told = self.webhooks if exit_code else ()
        if not has_row and not metrics and not told:
            return
        # Loaded with the first answer that is followed up.
        from shiq.jobs.history import make_row, write_row

        row = make_row(answer, asked.command, asked.inputs, time.monotonic() - self.start)
        failures = [write_row(store, row, self.history.keep_history)] if has_row else []
        if told or metrics:
            from shiq.jobs.alerts import post_alert, write_metrics

            failures += [post_alert(address, row, store) for address in told]
            failures += [write_metrics(metrics, row, store, exit_code)] if metrics else []
        for failure in filter(None, failures):
            click.echo(f"warning: {failure}", err=True)


#: Commands that leave rows.
_COMMANDS_WITH_HISTORY: Final = ("check", "gate")


def echo_unsliced_note(result: shiq.Result) -> None:
    """Print on stderr why a batch was checked as a whole, if slices were asked for."""
    for note in result.evidence.notes:
        if is_unsliced_note(note):
            click.echo(note, err=True)


def shorten_iris(text: str, inputs: Mapping[str, Any]) -> str:
    """Shorten IRIs in ``text`` by the prefixes of the files that were read."""
    if "<" not in text:
        return text
    return shorten(text, file_prefixes(inputs))


def _add_table_rows(result: shiq.Result, asked: Request) -> shiq.Result:
    """Add to the conflicts of ``result``, for each base assertion that a mapping made from a table,
    the row of the table.
    """
    if not result.conflicts or not asked.inputs.get("mapping") or asked.inputs.get("store"):
        return result
    # Loaded where there is a conflict.
    from shiq.jobs.reports.locations import add_locations

    documents = add_locations(
        {"conflicts": [c.to_dict() for c in result.conflicts]}, asked.sides()
    )["conflicts"]

    def find_places(document: dict[str, Any], index: int) -> tuple[Place, ...]:
        rows = (
            x for x in document.get("locations", ()) if (x["side"], x["index"]) == ("base", index)
        )
        return tuple(Place(x["source"], x.get("line", 0), column=x.get("column", "")) for x in rows)

    told = zip(result.conflicts, documents)
    return replace(
        result,
        conflicts=tuple(
            replace(c, base_places=tuple(find_places(x, i) for i in range(len(c.base))))
            for c, x in told
        ),
    )


class EarlyAnswer(Generic[T]):
    """Callback that a check or gate calls as soon as its answer is certain: prints its first line
    and writes it. From then on SIGTERM, like Ctrl-C, ends only the search for explanations or hints.

    first_line: makes the line; None: nothing is printed.
    """

    def __init__(
        self,
        first_line: Callable[[T], str] | None,
        write: Callable[[T], None],
        progress: ProgressLine | None,
    ) -> None:
        self._first_line, self._write, self._progress = first_line, write, progress
        self._handler: Any = None
        self.answer: T | None = None

    def __call__(self, answer: T) -> None:
        self.answer = answer
        if self._handler is None and threading.current_thread() is threading.main_thread():
            self._handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
        if self._first_line is not None:
            if self._progress:
                self._progress.clear()
            click.echo(self._first_line(answer))
            sys.stdout.flush()
        self._write(answer)

    def close(self) -> None:
        """Restore the previous handler of SIGTERM."""
        if self._handler is not None:
            signal.signal(signal.SIGTERM, self._handler)
            self._handler = None


def _write_repairs(result: shiq.Result, target: Path) -> None:
    """Write the repairs of ``result`` as SPARQL Update, or the reason why there are none."""
    # Loaded where it is asked for.
    from shiq.jobs.reports.repairs import update_text

    reason = {
        Verdict.CONSISTENT: "base and batch are consistent",
        Verdict.UNDETERMINED: "the verdict is undetermined",
        Verdict.INCONSISTENT: result.reason or "the engine that was asked looks for none",
    }[result.verdict]
    write_atomically(target, update_text(result.repairs or RepairPlan(reason=reason)))


def _pack_disagreements(result: shiq.Result, options: dict[str, Any]) -> None:
    """Write a reproducer of each disagreement between reasoners in an audit into the current
    folder.
    """
    if not result.evidence.disagreements:
        return
    from shiq.jobs.repro import pack_disagreement, write_reproducer

    for found in result.evidence.disagreements:
        packed = pack_disagreement(found, options)
        click.echo(
            f"packed: {write_reproducer(packed, Path(packed.name))}; please report it (shiq repro run decides it again)",
            err=True,
        )


_PARTS = ("insertions", "base", "axioms")


_IRI = re.compile(r"<([^<>\s]*)>")


@dataclass(frozen=True)
class Request:
    """Command and inputs of a run, kept with its answer so that reports can name files and suggest
    further commands.

    command: check, certify, index or gate.
    inputs: store, tbox, abox, ontology, insertions, deletions, mode, unit.
    """

    command: str
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def sides(self) -> dict[str, SideFiles]:
        """Files that the two sides of a conflict were read from: those of the insertions, and those
        of the base.
        """
        # Loaded where an answer is written.
        from shiq.jobs.reports.locations import SideFiles

        given = self.inputs
        scope = r"i\d+\." if given.get("store") else "i"
        base, letter = (
            (given["ontology"], "t") if given.get("ontology") else (given.get("abox") or (), "a")
        )
        added, base = (
            self._with_mapped_tables(list(files)) for files in (given.get("insertions") or (), base)
        )
        return {
            "insertions": SideFiles(tuple(added), scope),
            "base": SideFiles(tuple(base), letter),
        }

    def _with_mapped_tables(self, files: list[object]) -> list[object]:
        """Replace files that a mapping reads by table sources with this mapping."""
        if not self.inputs.get("mapping"):
            return files
        from shiq.rml.inputs import mapped_sources

        return mapped_sources(files, self.inputs["mapping"])


def complete_answer(
    answer: dict[str, Any], asked: Request, labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Add to the JSON ``answer``: files and lines of facts (`shiq.jobs.reports.locations`),
    ``labels`` of the terms in conflicts, and ``about`` (request, time, version).
    """
    given = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in asked.inputs.items()
        if value
    }
    made = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"command": asked.command, "made": made, "shiq": shiq.__version__, **given}
    named = _needed_labels(answer, labels or {})
    return {**_add_locations(answer, asked), **({"labels": named} if named else {}), "about": about}


def _add_locations(answer: dict[str, Any], asked: Request) -> dict[str, Any]:
    """Add to each conflict of ``answer`` the files and lines of its facts. Conflicts in a gate's
    last check are included in the same search.
    """
    # Loaded where an answer is written.
    from shiq.jobs.reports.locations import add_locations

    own, last = answer.get("conflicts", []), answer.get("result", {}).get("conflicts", [])
    found = add_locations({"conflicts": [*own, *last]}, asked.sides())["conflicts"]
    inner = {"result": {**answer["result"], "conflicts": found[len(own) :]}} if last else {}
    return {**answer, "conflicts": found[: len(own)], **inner}


def _needed_labels(answer: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, str]:
    """Select the ``labels`` that the conflicts of ``answer`` need."""
    if not labels:
        return {}
    texts = (text for conflict in answer["conflicts"] for part in _PARTS for text in conflict[part])
    return {iri: labels[iri] for text in texts for iri in _IRI.findall(text) if iri in labels}
