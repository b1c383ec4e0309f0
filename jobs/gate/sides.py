"""Writing what a gate decided: the lines set aside, why, and the lines accepted; in that order,
each file in one step.

A run that is stopped at any moment leaves whole files: what was set aside is on disk before
anything is accepted, and what was accepted before, by another run, is taken away first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from jobs.files import WHY, is_device, json_text, naming, replace_file
from jobs.gate.gated import GateAnswer
from jobs.gate.lines import Line, bare_name, text_of

#: What the file that tells why lines were set aside has after the name of the quarantine.
_Files: TypeAlias = dict[Path, bytes]


@dataclass(frozen=True, slots=True)
class Sides:
    """Places to write to: a file, or a directory for a batch of several files; None is not
    written. Without ``tolerated`` what is tolerated goes with the quarantine, so that nothing is
    lost.
    """

    accepted: Path | None = None
    quarantine: Path | None = None
    tolerated: Path | None = None


def write_sides(gated: GateAnswer, sides: Sides) -> None:
    """Writes both sides and, beside the quarantine, why (`WHY`): the run, the digests of the
    files, and a row for each line.

    A batch of several files comes as a directory of files with their names: blank nodes of two
    files are different nodes.

    Raises: OperationalError where a file cannot be written.
    """
    accepted, aside = _files(sides.accepted, gated.files, gated.accepted), _aside(gated, sides)
    remedy = (
        ""
        if len(gated.files) == 1
        else "Name a directory that may be written and has room: the batch has several files."
    )
    for folder in {file.parent for file in (*accepted, *aside)} if len(gated.files) > 1 else ():
        with naming(folder, remedy):
            folder.mkdir(parents=True, exist_ok=True)
    for file in accepted:
        with naming(file, remedy):
            if not is_device(file):
                file.unlink(missing_ok=True)
    for file, data in aside.items():
        with naming(file, remedy):
            replace_file(file, data)
    write_reasons(gated, sides)
    for file, data in accepted.items():
        with naming(file, remedy):
            replace_file(file, data)


def write_reasons(gated: GateAnswer, sides: Sides) -> None:
    """Write, beside the quarantine, why each line was set aside; in place of what was written
    before the hints were known.
    """
    if sides.quarantine is None or is_device(sides.quarantine):
        return
    files = {
        file.name: hashlib.sha256(data).hexdigest() for file, data in _aside(gated, sides).items()
    }
    said = {
        name: value
        for name, value in {**gated.to_dict(), "files": files}.items()
        if name != "result"
    }
    why = Path(f"{sides.quarantine}{WHY}")
    with naming(why):
        replace_file(why, json_text(said, indent=1).encode())


def _aside(gated: GateAnswer, sides: Sides) -> _Files:
    """The files of what is set aside and of what is tolerated, with their content."""
    rows = [(sides.quarantine, gated.set_aside), (sides.tolerated, gated.tolerated)]
    if sides.tolerated is None:
        both = sorted(
            (*gated.set_aside, *gated.tolerated), key=lambda x: (x.line.file, x.line.number)
        )
        rows = [(sides.quarantine, tuple(both))]
    found: _Files = {}
    for target, aside in rows:
        found |= _files(target, gated.files, [x.line for x in aside])
    return found


def _files(target: Path | None, names: Sequence[str], lines: Sequence[Line]) -> _Files:
    """The files of one side, with their content."""
    if target is None:
        return {}
    if len(names) == 1:
        return {target: text_of(lines)}
    parts: list[list[Line]] = [[] for _ in names]
    for line in lines:
        parts[line.file].append(line)
    return {
        target / f"{i}-{bare_name(name)}": text_of(part)
        for i, (name, part) in enumerate(zip(names, parts))
    }
