"""Write a gate's decision to files: quarantine, then reasons, then accepted lines.

Each file is replaced in one step. An interrupted run leaves whole files only. The accepted lines of
an earlier run are deleted first, and the quarantine is on disk before anything is accepted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from shiq.files import WHY, is_device, json_text, replace_file, report_write_errors
from shiq.jobs.gate.answer import GateAnswer
from shiq.jobs.gate.lines import Line, join_lines, output_file_name

#: What the file that tells why lines were set aside has after the name of the quarantine.
_FileContents: TypeAlias = dict[Path, bytes]


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """Paths of a gate's three output files; folders if the batch has several files. None: that
    output is not written.

    tolerated: if None, tolerated lines are written to the quarantine.
    """

    accepted_file: Path | None = None
    quarantine_file: Path | None = None
    tolerated_file: Path | None = None


def write_outputs(gated: GateAnswer, sides: OutputFiles) -> None:
    """Write the output files of a gate: the quarantine, the reasons (`WHY`), then the accepted
    lines.

    A batch of several files is written to directories with one file each, because blank nodes are
    local to a file.

    Raises: OperationalError if a file cannot be written.
    """
    accepted, aside = (
        _output_contents(sides.accepted_file, gated.files, gated.accepted),
        _quarantine_files(gated, sides),
    )
    remedy = (
        ""
        if len(gated.files) <= 1
        else "Name a directory that may be written and has room: the batch has several files."
    )
    for folder in {file.parent for file in (*accepted, *aside)} if len(gated.files) > 1 else ():
        with report_write_errors(folder, remedy):
            folder.mkdir(parents=True, exist_ok=True)
    for file in accepted:
        with report_write_errors(file, remedy):
            if not is_device(file):
                file.unlink(missing_ok=True)
    for file, data in aside.items():
        with report_write_errors(file, remedy):
            replace_file(file, data)
    write_reasons(gated, sides)
    for file, data in accepted.items():
        with report_write_errors(file, remedy):
            replace_file(file, data)


def write_reasons(gated: GateAnswer, sides: OutputFiles) -> None:
    """Write the reason for each quarantined line to a file beside the quarantine; replaces an
    earlier version without hints.
    """
    if sides.quarantine_file is None or is_device(sides.quarantine_file):
        return
    files = {
        file.name: hashlib.sha256(data).hexdigest()
        for file, data in _quarantine_files(gated, sides).items()
    }
    said = {
        name: value
        for name, value in {**gated.to_dict(), "files": files}.items()
        if name != "result"
    }
    why = Path(f"{sides.quarantine_file}{WHY}")
    with report_write_errors(why):
        replace_file(why, json_text(said, indent=1).encode())


def _quarantine_files(gated: GateAnswer, sides: OutputFiles) -> _FileContents:
    """Content of the files with quarantined and tolerated lines, by path."""
    rows = [(sides.quarantine_file, gated.set_aside), (sides.tolerated_file, gated.tolerated)]
    if sides.tolerated_file is None:
        both = sorted(
            (*gated.set_aside, *gated.tolerated), key=lambda x: (x.line.file, x.line.number)
        )
        rows = [(sides.quarantine_file, tuple(both))]
    found: _FileContents = {}
    for target, aside in rows:
        found |= _output_contents(target, gated.files, [x.line for x in aside])
    return found


def _output_contents(
    target: Path | None, names: Sequence[str], lines: Sequence[Line]
) -> _FileContents:
    """Content of an output with ``lines``, by path: the file ``target``, or one file in it for each
    batch file.
    """
    if target is None:
        return {}
    if len(names) <= 1:
        return {target: join_lines(lines)}
    parts: list[list[Line]] = [[] for _ in names]
    for line in lines:
        parts[line.file].append(line)
    return {
        target / f"{i}-{output_file_name(name)}": join_lines(part)
        for i, (name, part) in enumerate(zip(names, parts))
    }
