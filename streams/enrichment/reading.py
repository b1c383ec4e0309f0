"""Events as they are given, read: plain lines by a look at their tokens, all else by the reader
of RDF.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shiq import model as owl
from shiq.answers.verdict import is_blocking
from shiq.errors import InputError, UsageError
from shiq.model.abox import ABox
from shiq.model.ntriples import assertion_lines
from shiq.rdf import read_assertions
from shiq.streams.enrichment.knowledge import StaticKnowledge, way_out

#: Blank nodes of events are named after this, those of B after another.
_SCOPE: Final = "e"
_BLANK: Final = f"_:{_SCOPE}0."
_LABEL: Final = re.compile(r"^_:(\S+)|(?<=> )_:(\S+)(?= *\.\s*$)")


@dataclass(frozen=True)
class EventReading:
    """The assertions of an event; ``reason``: why it cannot be decided, if so."""

    assertions: tuple[owl.Assertion, ...]
    reason: str = ""


def lines_of(event: Any) -> list[str]:
    """The N-Triples lines of an event as callers give it: lines, an ABox, an rdflib Graph.
    Raises: UsageError.
    """
    if isinstance(event, ABox):
        return [line for assertion in event for line in assertion_lines(assertion)]
    if isinstance(event, str | bytes):
        raise UsageError("an event is a list of lines, not one text", "Give text.splitlines().")
    if hasattr(event, "serialize"):
        return str(event.serialize(format="nt")).splitlines()
    return [str(line).strip() for line in event]


def read(lines: Sequence[str], knowledge: StaticKnowledge) -> EventReading:
    """The assertions of N-Triples ``lines`` of any kind."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "event.nt"
        file.write_text(
            "\n".join(line.replace("\n", " ") for line in lines) + "\n",
            encoding="utf-8",
            errors="surrogatepass",
        )
        try:
            reading = read_assertions(
                [file],
                knowledge.tbox.signature,
                ontologies=knowledge.ontologies,
                axioms=knowledge.tbox.axioms,
                scope=_SCOPE,
            )
        except InputError as error:
            return EventReading((), error.message.replace(str(file), "the event"))
    assertions = [
        *reading.abox,
        *(
            value
            for x in reading.leftovers
            for value in x.values
            if not isinstance(value, owl.Axiom)
        ),
    ]
    open_ = [
        x
        for x in reading.leftovers
        if is_blocking(x, knowledge.allow) and x.kind != "undeclared" and not x.values
    ]
    reason = ""
    if open_:
        reason = f"line {open_[0].line}: {open_[0].message} ({open_[0].kind}){way_out(x.kind for x in open_)}"
    return EventReading(tuple(dict.fromkeys(assertions)), reason)


def shown(individual: str) -> str:
    """An individual of an event as its answer names it."""
    return "_:" + individual.removeprefix(_BLANK) if individual.startswith(_BLANK) else individual


def labels_of(lines: Iterable[str]) -> frozenset[str]:
    """The labels of the blank nodes in ``lines``."""
    return frozenset(
        match[1] or match[2] for line in lines if "_:" in line for match in _LABEL.finditer(line)
    )


def relabelled(line: str, labels: Mapping[str, str]) -> str:
    """``line`` with other ``labels`` for blank nodes."""
    return (
        _LABEL.sub(lambda match: f"_:{labels.get(label := match[1] or match[2], label)}", line)
        if "_:" in line
        else line
    )


def apart(labels: Sequence[Iterable[str]]) -> list[dict[str, str]]:
    """What the ``labels`` of several events are called as those of one: where several have one,
    by the event's place too.
    """
    several = Counter(label for found in labels for label in found)
    taken, named = {*several}, list[dict[str, str]]()
    for number, found in enumerate(labels, 1):
        new = {label: f"{label}-{number}" for label in found if several[label] > 1}
        for label, name in new.items():
            while new[label] in taken:
                new[label] = name = f"{name}x"
        named.append(new)
    return named


def together(events: Iterable[Sequence[str]]) -> list[str]:
    """The lines of several events as those of one. A label of blank nodes that several have is
    of another node in each.
    """
    given = [list(lines) for lines in events]
    named = zip(given, apart([labels_of(lines) for lines in given]))
    return list(dict.fromkeys(relabelled(line, new) for lines, new in named for line in lines))
