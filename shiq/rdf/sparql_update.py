r"""Read batches in SPARQL 1.1 Update: files of INSERT DATA and DELETE DATA.

Each side is the text of its operations, as TriG, on the lines of the file: so a triple keeps its
line, and errors name it. Whatever else an update can do (patterns, LOAD, CLEAR, …) is refused:
what it changes depends on the store that runs it.

Source: W3C, SPARQL 1.1 Update, sections 3.1.1 and 3.1.2.

>>> batch = read_update("PREFIX : <urn:>\nINSERT DATA { :a :p 1 } ;\nDELETE DATA { :b :p 2 }", "x.ru")
>>> [source.text for source in batch.deletions]
['PREFIX : <urn:>\n  \n   {:b :p 2 }']
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

import pyoxigraph as ox

from shiq.errors import InputError
from shiq.inputs.formats import decode_utf8
from shiq.inputs.sources import TextInput, local_path_of
from shiq.rdf.sparql_tokens import blank_out, tokens

_LABEL = re.compile(r"_:[^\s{};,<\"'#\\]*[^\s{};,<\"'#\\.]")
_REMEDY = (
    "Only INSERT DATA and DELETE DATA, with PREFIX and BASE, are a batch. Run the update elsewhere, "
    "and give the triples that it inserts and deletes."
)


@dataclass(frozen=True, slots=True)
class UpdateBatch:
    """Insertions and deletions of a SPARQL update, each as at most one source."""

    insertions: tuple[TextInput, ...]
    deletions: tuple[TextInput, ...]


def update_changes(path: str | PathLike[str]) -> UpdateBatch:
    """Read a file of INSERT DATA and DELETE DATA as a batch for `check_insertions`.

    Raises: InputError.
    """
    name = fspath(path)
    try:
        content = local_path_of(name).read_bytes()
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}", "Name a file of SPARQL Update.") from error
    batch = read_update(decode_utf8(content, name).removeprefix("\ufeff"), name)
    if not batch.insertions and not batch.deletions:
        raise InputError(f"{name} inserts and deletes nothing", _REMEDY)
    return batch


@dataclass(frozen=True, slots=True)
class _Operation:
    """One INSERT DATA or DELETE DATA operation: its verb, the line of it, and its block as TriG
    text.
    """

    verb: str
    line: int
    text: str
    labels: frozenset[str]


def read_update(text: str, name: str) -> UpdateBatch:
    """Parse an update into its net insertions and deletions, in the order of its operations.

    Raises: InputError, with the line, for whatever is no such operation.
    """
    sides: dict[str, list[str]] = {"INSERT": [], "DELETE": []}
    header: list[str] = []
    operations: list[tuple[_Operation, list[ox.Quad]]] = []
    for piece in _split_operations(text, name):
        if isinstance(piece, _Operation):
            for verb, parts in sides.items():
                parts.append(piece.text if verb == piece.verb else blank_out(piece.text))
            operations.append((piece, _parse_quads("\n".join([*header, piece.text]))))
        else:
            for parts in sides.values():
                parts.append(piece)
            header.append(piece)
    _refuse_blank_nodes(operations, name)
    inserted, taken_back = _insertions_taken_back(operations)
    found = {
        verb: "".join(parts).rstrip()
        for verb, parts in sides.items()
        if any(operation.verb == verb for operation, _ in operations)
    }
    form = "trig"
    if taken_back and "INSERT" in found:
        # The same triple is inserted and then deleted: its line would tell what is not so.
        form, kept = "nquads", (quad for quad in inserted if quad not in taken_back)
        found["INSERT"] = (ox.serialize(kept, format=ox.RdfFormat.N_QUADS) or b"").decode()
    coming = (TextInput(found["INSERT"], form, name),) if found.get("INSERT") else ()
    going = (TextInput(found["DELETE"], "trig", name),) if "DELETE" in found else ()
    return UpdateBatch(coming, going)


def _split_operations(text: str, name: str) -> Iterator[str | _Operation]:
    """Split an update into directives, line ends and operations. Raises: InputError."""
    found = tokens(text)
    for kind, piece, line in found:
        if kind == "operation":
            yield _read_operation(piece, line, found, name)
        elif kind == "space":
            yield blank_out(piece)
        elif kind == "prefix":
            yield piece
        elif kind != "semicolon":
            raise InputError(f"{name}, line {line}: {piece[:40]!r} is not read here", _REMEDY)


def _read_operation(
    piece: str, line: int, found: Iterator[tuple[str, str, int]], name: str
) -> _Operation:
    """Read the block of an operation, up to its closing brace. Raises: InputError.

    In TriG the triples of the default graph stand in braces of their own, beside named graphs.
    """
    verb, parts, labels = piece.split(maxsplit=1)[0].upper(), [blank_out(piece)], set[str]()
    depth, is_naming, is_open = 0, False, False
    for kind, text, at in found:
        labels.update(_LABEL.findall(text) if kind == "name" else ())
        if kind == "space":
            parts.append(blank_out(text))
        elif depth == 0 and kind != "open":
            raise InputError(f"{name}, line {at}: expected {{, found {text[:40]!r}", _REMEDY)
        elif kind == "open":
            depth += 1
            is_naming = False
            parts.append("{" if depth > 1 else "")
        elif kind == "close":
            depth -= 1
            parts.append("}" if depth or is_open else "")
            if depth == 0:
                return _Operation(verb, line, "".join(parts), frozenset(labels))
        elif kind == "graph" and depth == 1:
            parts.append("}GRAPH" if is_open else "GRAPH")
            is_naming, is_open = True, False
        elif depth == 1 and not is_naming and not is_open:
            # A dot after a named graph ends nothing in TriG.
            parts.append("" if text == "." else f"{{{text}")
            is_open = text != "."
        else:
            parts.append(text)
    raise InputError(f"{name}, line {line}: {verb} DATA is not closed", "Add the missing brace.")


def _parse_quads(text: str) -> list[ox.Quad]:
    """Parse the quads of an operation; empty if it has a syntax error, which the reader of the
    batch reports.
    """
    try:
        return list(ox.parse(input=text.encode("utf-8"), format=ox.RdfFormat.TRIG))
    except (SyntaxError, ValueError):
        return []


def _refuse_blank_nodes(operations: Sequence[tuple[_Operation, list[ox.Quad]]], name: str) -> None:
    """Check blank nodes: none in a deletion, and no label in two operations. Raises: InputError."""
    seen: set[str] = set()
    for operation, quads in operations:
        is_deletion = operation.verb == "DELETE"
        terms = (term for quad in quads for term in (quad.subject, quad.object))
        if is_deletion and any(isinstance(term, ox.BlankNode) for term in terms):
            raise InputError(
                f"{name}, line {operation.line}: DELETE DATA cannot hold blank nodes",
                "Name the nodes by their IRIs.",
            )
        if again := seen & operation.labels:
            raise InputError(
                f"{name}, line {operation.line}: {min(again)} stands in another operation too",
                "A blank node belongs to one operation: rename it, or put both into one.",
            )
        seen |= operation.labels


def _insertions_taken_back(
    operations: Sequence[tuple[_Operation, list[ox.Quad]]],
) -> tuple[Collection[ox.Quad], set[ox.Quad]]:
    """Return all inserted quads, in order, and those of them that a later operation deletes again."""
    inserted: dict[ox.Quad, None] = {}
    found: set[ox.Quad] = set()
    for operation, quads in operations:
        if operation.verb == "INSERT":
            inserted.update(dict.fromkeys(quads))
            found.difference_update(quads)
        else:
            found |= inserted.keys() & set(quads)
    return inserted, found
