"""Plan steps that remove what blocks a verdict, most effective first, each with a command."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shiq.answers.verdict import Leftover
from shiq.errors import ShiqError
from shiq.inputs.formats import ONTOLOGY_EXTENSIONS
from shiq.model import OWL, RDF
from shiq.support import pluralize

_SUGGESTED_IRI = re.compile(r"did you mean <([^<>\s]+)>\?")
_LITERAL = re.compile(r"^\S+\s+<[^>]*>\s+\"")
_LOCAL_NAME = re.compile(r"(.*[#/:])([\w.-]+)")
#: Only files this small, and this many beside an ontology, are looked through for what it imports.
_MOST_BYTES, _MOST_FILES = 16 << 20, 200
#: Files that the commands write, in the folder where they are pasted.
_NEW_TERMS, _NEW_CATALOG = "lint-declared.nt", "lint-catalog.json"
_SED_SPECIAL = re.compile(r"[.*\[\]^$\\|&]")


@dataclass(frozen=True, slots=True)
class LintStep:
    """Recommended step to remove blocking leftovers. ``removes``: how many; ``left``: how many
    remain after it.
    """

    text: str
    command: str
    removes: int
    left: int = 0


@dataclass
class _LintCommand:
    """Command line of ``shiq lint`` that a recommended step tells the user to run afterwards; steps
    add options and files to it.
    """

    ontology: list[str]
    options: list[str]

    def text(self) -> str:
        """Format the command line as text."""
        return shlex.join(["shiq", "lint", *self.ontology, *self.options])


def plan_steps(
    in_the_way: Sequence[Leftover],
    ontology: Sequence[str],
    data: Sequence[str],
    options: Sequence[str],
) -> list[LintStep]:
    """Plan steps after which no leftover blocks a verdict. ``options``: those of the present call."""
    kinds = defaultdict[tuple[int, str], list[Leftover]](list)
    for leftover in in_the_way:
        kinds[_group_key(leftover)].append(leftover)
    call = _LintCommand(
        [*ontology], [part for file in data for part in ("--data", file)] + [*options]
    )
    left, found = sum(x.number for x in in_the_way), []
    # What a step removes decides; of equals, what is safer comes first.
    for (sort, kind), some in sorted(
        kinds.items(), key=lambda item: (-_count_leftovers(item[1]), item[0])
    ):
        left -= _count_leftovers(some)
        text, command = _STEP_MAKERS[sort](kind, some, call)
        found.append(LintStep(text, command, _count_leftovers(some), left))
    return found


def steps_text(found: Sequence[LintStep]) -> list[str]:
    """Format the steps as lines of text."""
    if not found:
        return []
    total = found[0].removes + found[0].left
    lines = ["", "what to do, most effective first:"]
    for i, step in enumerate(found, 1):
        then = f"then {step.left:,} left" if step.left else "then a verdict is possible"
        lines.append(f"  {i}. {step.text}: removes {step.removes:,} of {total:,}, {then}")
        lines += [f"       {line}" for line in step.command.split("\n")]
    return lines


def _count_leftovers(leftovers: Iterable[Leftover]) -> int:
    """Number of leftovers, repetitions included."""
    return sum(x.number for x in leftovers)


def _group_key(leftover: Leftover) -> tuple[int, str]:
    """Key of the leftovers that one step removes together: index of the kind of step, and kind of
    leftover.
    """
    if leftover.kind == "missing-import" and leftover.term:
        return 0, leftover.kind
    if leftover.kind == "undeclared" and leftover.term and leftover.source:
        return (1 if _SUGGESTED_IRI.search(leftover.hint) else 2), leftover.kind
    return 3, leftover.kind


def _catalog_step(kind: str, leftovers: Sequence[Leftover], call: _LintCommand) -> tuple[str, str]:
    """Make the step that provides missing imports by a catalog: text and command."""
    imports = list(dict.fromkeys(x.term for x in leftovers))
    folders = {
        iri: folder
        for folder in dict.fromkeys(str(Path(f).parent) for f in call.ontology)
        for iri in _ontology_iris(folder)
    }
    beside = list(dict.fromkeys(folders[iri] for iri in imports if iri in folders))
    missing = [iri for iri in imports if iri not in folders]
    call.options += [part for folder in beside for part in ("--catalog", folder)]
    if not missing:
        return (
            f"add {pluralize(len(beside), 'folder')} that {'has' if len(beside) == 1 else 'have'} what is imported",
            call.text(),
        )
    # The names are for the user to fill in: nothing is fetched.
    names = {iri: (re.split(r"[#/:]", iri.rstrip("#/:"))[-1] or "imported") for iri in missing}
    entries = ", ".join(
        f'"{iri}": "{name if "." in name else name + ".owl"}"' for iri, name in names.items()
    )
    call.options += ["--catalog", _NEW_CATALOG]
    files = f"download {pluralize(len(missing), 'imported ontology', 'imported ontologies')} to these names, and add a catalog"
    return files, f"echo {shlex.quote('{' + entries + '}')} > {_NEW_CATALOG}\n{call.text()}"


def _ontology_iris(folder: str) -> Iterator[str]:
    """Read the IRIs of the ontologies in the files of a folder."""
    # Loaded where an import is missing.
    from shiq.inputs.sources import FileSource, classify_input
    from shiq.rdf.headers import read_headers

    with suppress(OSError):
        for path in sorted(Path(folder).iterdir())[:_MOST_FILES]:
            with suppress(ShiqError, OSError):
                if (
                    path.suffix.lower() in ONTOLOGY_EXTENSIONS
                    and path.is_file()
                    and path.stat().st_size <= _MOST_BYTES
                ):
                    source = classify_input(path)
                    headers = (
                        read_headers(source).ontologies if isinstance(source, FileSource) else ()
                    )
                    yield from (
                        iri for header in headers for iri in (header.iri, header.version) if iri
                    )


def _spelling_step(kind: str, leftovers: Sequence[Leftover], call: _LintCommand) -> tuple[str, str]:
    """Make the step that corrects misspelt names in the files: text and command."""
    changes = dict.fromkeys(
        (x.source, x.term, match[1]) for x in leftovers if (match := _SUGGESTED_IRI.search(x.hint))
    )
    lines = [
        shlex.join(["sed", "-i", _sed_command(file, wrong, right), file])
        for file, wrong, right in changes
    ]
    terms = len({wrong for _, wrong, _ in changes})
    return f"mend {pluralize(terms, 'typing error')}, if that is what they are", "\n".join(
        [*lines, call.text()]
    )


def _sed_command(file: str, wrong: str, right: str) -> str:
    """Make the sed command that replaces ``wrong`` by ``right`` in a file: whole IRIs if the file
    has them, else local names.
    """
    with suppress(OSError):
        whole = f"<{wrong}>".encode() in Path(file).read_bytes()
        one, other = _LOCAL_NAME.fullmatch(wrong), _LOCAL_NAME.fullmatch(right)
        if not whole and one and other and one[1] == other[1]:
            return f"s|\\b{_literal_value(one[2])}\\b|{_literal_value(other[2])}|g"
    return f"s|<{_literal_value(wrong)}>|<{_literal_value(right)}>|g"


def _literal_value(text: str) -> str:
    """Escape the characters of a text that sed treats specially."""
    return _SED_SPECIAL.sub(lambda match: "\\" + match[0], text)


def _declaration_step(
    kind: str, leftovers: Sequence[Leftover], call: _LintCommand
) -> tuple[str, str]:
    """Make the step that declares undeclared terms: text and command."""
    terms = {x.term: _declared_kind(x) for x in leftovers}
    lines = [shlex.quote(f"<{iri}> <{RDF}type> <{OWL}{name}> .") for iri, name in terms.items()]
    call.ontology.append(_NEW_TERMS)
    what = pluralize(len(terms), "term")
    return (
        f"declare {what}, if they are meant",
        f"printf '%s\\n' {' '.join(lines)} >> {_NEW_TERMS}\n{call.text()}",
    )


def _declared_kind(leftover: Leftover) -> str:
    """Kind (class or property) that the term of a leftover would be declared as."""
    if " class <" in leftover.message:
        return "Class"
    return "DatatypeProperty" if _LITERAL.match(leftover.text) else "ObjectProperty"


def _allow_step(kind: str, leftovers: Sequence[Leftover], call: _LintCommand) -> tuple[str, str]:
    """Make the step that allows a kind of leftovers: text and command."""
    first = leftovers[0]
    place = f"{first.source}:{first.line}" if first.line else first.source or "where it says"
    for at in range(len(call.options) - 2, -1, -1):
        if call.options[at : at + 2] == ["--fail-on", kind]:
            del call.options[at : at + 2]
    call.options += ["--allow", kind]
    return (
        f"correct {pluralize(_count_leftovers(leftovers), kind)} (the first: {place}), or leave them out of account",
        call.text(),
    )


_STEP_MAKERS = (_catalog_step, _spelling_step, _declaration_step, _allow_step)
