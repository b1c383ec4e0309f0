"""The reduced ontology of a check: A_add with the simplified TBox, as a file for another reasoner
(THEORY, "The procedure").

It is what modules were decided with, so it is consistent if and only if A ∪ A⁺ is, where (T, A)
is; elements that contradict by themselves are instances of owl:Nothing. Every name that is not
of the user's begins with `FRESH_PREFIX`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, starmap
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from shiq import model as owl
from shiq.abox_ops.engine import AddSet
from shiq.abox_ops.modules.add_set import NamedModules
from shiq.answers.result import Result
from shiq.answers.verdict import LEAVING_OUT, UNKNOWN_DATATYPE, UNREAD, Verdict, is_blocking
from shiq.datatypes import DataTheory
from shiq.errors import UsageError
from shiq.files import open_replacement, report_write_errors
from shiq.functional.writer import axiom_text, declaration_text, declared_term, literal_text
from shiq.jobs.checking.deciding import BASE_INCONSISTENT
from shiq.jobs.outputs import OutputKind
from shiq.jobs.undecided_insertions import HasAddSet
from shiq.model.axioms import READ_BY_FORM
from shiq.model.clause import ClausalTBox
from shiq.model.clause_axioms import clause_axioms, module_assertions, numbered_names
from shiq.model.ntriples import assertion_lines, axiom_lines, declaration_line
from shiq.model.roles import RoleBox
from shiq.model.walk import parts, rewrite_parts
from shiq.reasoner.data_proxies import refute_ill_typed
from shiq.reasoner.ontology_text import make_sendable, sent_name
from shiq.support import supports

#: What every name begins with that the user's ontology does not have.
FRESH_PREFIX = "urn:shiq:reduced:"
#: The endings of file names, and whether such a file is a table of triples.
ENDINGS = {".ofn": False, ".nt": False, ".csv": True, ".parquet": True, ".delta": True}
ONTOLOGY_IRI = FRESH_PREFIX + "ontology"

_OWN_NAMESPACE = "urn:shiq:"
_ROWS = 50_000
V = TypeVar("V", owl.Axiom, owl.Assertion)


#: Some assertions, and the individuals that are named here first.
Part: TypeAlias = tuple[Sequence[owl.Assertion], Sequence[str]]


@runtime_checkable
class DistributedAddSet(Protocol):
    """Add set on Spark, whose executors write the assertions."""

    tbox: ClausalTBox

    def reduced_sample(self) -> Sequence[owl.Assertion]:
        """Sample of the add set's assertions with at least one for every property and datatype of
        the reduced ontology, from which these are declared.
        """

    def reduced_lines(
        self, write: Callable[[Sequence[owl.Assertion], Sequence[str]], list[str]]
    ) -> Any:
        """DataFrame with the column ``line``: the lines that ``write`` makes of the assertions of
        the reduced ontology.
        """

    def running(self) -> AbstractContextManager[None]:
        """Context manager: Spark settings that suit jobs over this add set."""


@dataclass(frozen=True)
class ReducedWriter:
    """Formatter of axioms and assertions in functional syntax, or in N-Triples.

    puns: IRIs of data properties that name another kind of term too.
    """

    tbox: ClausalTBox
    puns: frozenset[str]
    is_functional: bool

    def head_lines(
        self, note: str, axioms: Sequence[owl.Axiom], terms: Iterable[tuple[str, str]]
    ) -> Iterator[str]:
        """Lines before the assertions: the ontology with a note, declarations of ``terms``, and
        ``axioms``.
        """
        declared = sorted((kind, self._written_name(kind, iri)) for kind, iri in terms)
        comment = owl.DataPropertyAssertion(
            owl.DataProperty(owl.RDFS + "comment"), ONTOLOGY_IRI, owl.Literal(note)
        )
        if self.is_functional:
            # In front of it no comment may stand, for readers that are older than the
            # recommendation.
            yield f"Ontology(<{ONTOLOGY_IRI}> Annotation(<{owl.RDFS}comment> {literal_text(comment.literal)})"
            yield from (rename_own_names(declaration_text(*term)) for term in declared)
        else:
            yield from (
                *assertion_lines(comment),
                f"<{ONTOLOGY_IRI}> <{owl.RDF}type> <{owl.OWL}Ontology> .",
            )
            yield from (rename_own_names(declaration_line(*term)) for term in declared)
        for axiom in map(self._rename_puns, axioms):
            yield from self._format_value(axiom, axiom_lines)

    def format_assertions(
        self, assertions: Sequence[owl.Assertion], individuals: Sequence[str]
    ) -> list[str]:
        """Format ``assertions`` and the declarations of ``individuals`` as lines. Blank nodes get
        IRIs, since OWL 2 DL restricts blank nodes.
        """
        declaration = declaration_text if self.is_functional else declaration_line
        found = [
            rename_own_names(declaration("NamedIndividual", sent_name(each)))
            for each in individuals
        ]
        refuted = refute_ill_typed(self._data_theory, assertions)
        for assertion in map(self._rename_puns, make_sendable((), refuted)[1]):
            found += self._format_value(assertion, assertion_lines)
        return found

    @cached_property
    def _data_theory(self) -> DataTheory:
        """Theory of data values under the TBox."""
        return DataTheory(self.tbox.definitions, self.tbox.roles)

    def _format_value(self, value: V, triples: Callable[[V], tuple[str, ...]]) -> list[str]:
        """Format an axiom or assertion as lines, in the syntax of the file."""
        if not self.is_functional:
            return list(map(rename_own_names, triples(value)))
        text = axiom_text(value)
        # Of a text with literals names alone are to change.
        return (
            [axiom_text(rewrite_parts(value, _rename_part))]
            if '"' in text and _OWN_NAMESPACE in text
            else [rename_own_names(text)]
        )

    def _rename_puns(self, value: V) -> V:
        """Rename the data properties in an axiom or assertion that share their IRI with another
        kind of term.
        """
        if not self.puns:
            return value

        def change(part: object) -> object | None:
            pun = isinstance(part, owl.DataProperty) and part.iri in self.puns
            return owl.DataProperty(self._written_name("DataProperty", part.iri)) if pun else None  # type: ignore[attr-defined]

        return rewrite_parts(value, change)

    def _written_name(self, kind: str, iri: str) -> str:
        """IRI under which a term is written: a new one for a data property that shares its IRI."""
        return f"{_OWN_NAMESPACE}data:{iri}" if kind == "DataProperty" and iri in self.puns else iri


def rename_own_names(text: str) -> str:
    """Replace the IRIs that the simplification introduced by those of a reduced ontology, before
    the first quotation mark.
    """
    names, quote, rest = text.partition('"')
    return names.replace(f"<{_OWN_NAMESPACE}", f"<{FRESH_PREFIX}") + quote + rest


def _rename_part(part: object) -> object | None:
    """Rename a term or subject that the simplification introduced; None for others."""
    if isinstance(
        part, owl.Class | owl.ObjectProperty | owl.DataProperty | owl.Datatype
    ) and part.iri.startswith(_OWN_NAMESPACE):
        return type(part)(FRESH_PREFIX + part.iri.removeprefix(_OWN_NAMESPACE))
    if isinstance(
        part, owl.DataPropertyAssertion | owl.NegativeDataPropertyAssertion
    ) and part.subject.startswith(_OWN_NAMESPACE):
        property = rewrite_parts(part.property, _rename_part)
        return type(part)(
            property, FRESH_PREFIX + part.subject.removeprefix(_OWN_NAMESPACE), part.literal
        )
    return None


# --- the assertions of an engine of this process --------------------------------------------------


def _add_set_assertions(add_set: AddSet) -> Iterator[Part]:
    """Iterate over the assertions of A_add, module by module, each with the individuals that occur
    for the first time.
    """
    for members in add_set.contradictory:
        yield [owl.ClassAssertion(owl.NOTHING, members[0]), *_same_individuals(members)], members
    for named in add_set.modules:
        assertions = module_assertions(
            add_set.tbox, named.module, [members[0] for members in named.elements]
        )
        yield (
            [*assertions, *chain(*map(_same_individuals, named.elements))],
            [*chain(*named.elements)],
        )


def _same_individuals(members: Sequence[str]) -> Iterator[owl.Assertion]:
    """Equalities between the individuals of an element (a class of individuals known to be equal)."""
    return (owl.SameIndividual(members[0], other) for other in members[1:])


def _sample_assertions(add_set: AddSet) -> Iterator[owl.Assertion]:
    """Sample of the assertions of A_add in which every property and datatype occurs, to declare
    them.
    """
    for module in NamedModules.from_modules(add_set.modules).distinct:
        if module.edges or module.negative_edges or module.data or module.negative_data:
            yield from module_assertions(
                add_set.tbox, module, numbered_names(module, _OWN_NAMESPACE)
            )


# --- what the file is worth -----------------------------------------------------------------------


def find_gaps(result: Result) -> list[str]:
    """Reasons why the reduced ontology is not the full question of ``result``; empty if it is."""
    evidence, found = result.evidence, []
    if not supports(result.a_add, HasAddSet):
        return [result.reason or "the check was not ended"]
    if result.reason == BASE_INCONSISTENT:
        found.append(result.reason)
    elif evidence.certificate.get("verdict") != Verdict.CONSISTENT.value:
        found.append("the base is not certified consistent")
    kinds: dict[str, int] = {}
    for leftover in evidence.leftovers:
        is_open = is_blocking(leftover, evidence.allowed, evidence.fail_on)
        if is_open or leftover.kind in LEAVING_OUT | UNREAD | {UNKNOWN_DATATYPE}:
            kinds[leftover.kind] = kinds.get(leftover.kind, 0) + leftover.number
    found += (f"{count:,} × {kind}" for kind, count in sorted(kinds.items()))
    decided = evidence.decided
    if any(name.startswith("whole ") for name in decided):
        found.append("HermiT was asked about more than is in here")
    refuted = decided.get("contradictory", 0) + decided.get(Verdict.INCONSISTENT.value, 0)
    if refuted and result.verdict is not Verdict.INCONSISTENT:
        found.append(result.reason)
    return found


def _gap_note(gaps: Sequence[str]) -> str:
    """Note for the head of the file: what the reduced ontology lacks, or that it is complete."""
    if gaps:
        return f"NOT THE WHOLE QUESTION of a check by shiq: {' '.join('; '.join(gaps).split())}"
    return "Reduced ontology of a check by shiq: as the base by itself is consistent, this is if and only if base and batch are."


# --- files ----------------------------------------------------------------------------------------


def format_ending(name: str) -> str:
    """Suffix of a reduced ontology's file, which determines its format. Raises: UsageError for
    another one.
    """
    ending = Path(name).suffix
    if ending not in ENDINGS:
        raise UsageError(
            f"{name}: a reduced ontology is written as {', '.join(ENDINGS)}",
            "Give it a name that ends so.",
        )
    return ending


def output_kind(name: str, engine: str) -> OutputKind:
    """Kind of the output ``name``: a folder for a table that executors write, else a file."""
    ending = Path(name).suffix
    is_folder = ending == ".delta" or (ENDINGS.get(ending, False) and engine == "graphframes")
    return OutputKind.OWN if is_folder else OutputKind.FILE


def refuse_output(name: str, engine: str) -> None:
    """Refuse the name of a reduced ontology if its format is unknown, or if a table is there
    already. Raises: UsageError.
    """
    format_ending(name)
    if output_kind(name, engine) is OutputKind.OWN and Path(name).exists():
        raise UsageError(
            f"{name} is there already, and is not replaced", "Name a folder that is not there yet."
        )


def write_reduced(result: Result, target: Path) -> list[str]:
    """Write the reduced ontology of ``result`` to ``target``, in the format of its suffix. Returns
    the reasons why it is not the whole question.

    A file is replaced in one step. Raises: UsageError, OperationalError.
    """
    ending, gaps = format_ending(target.name), find_gaps(result)
    add_set = result.a_add.add_set if supports(result.a_add, HasAddSet) else None
    far = add_set if supports(add_set, DistributedAddSet) else None
    tbox = ClausalTBox((), RoleBox()) if add_set is None else add_set.tbox
    with report_write_errors(target), nullcontext() if far is None else far.running():
        axioms, _ = make_sendable((a for a in clause_axioms(tbox) if a != READ_BY_FORM), ())
        sample: Iterable[owl.Assertion] = ()
        if add_set is not None:
            sample = _sample_assertions(add_set) if far is None else far.reduced_sample()
        terms = _declared_terms(tbox, chain(axioms, sample))
        roles, properties = (
            {iri for kind, iri in terms if kind == which}
            for which in ("ObjectProperty", "DataProperty")
        )
        writer = ReducedWriter(tbox, frozenset(roles & properties), ending == ".ofn")
        head = writer.head_lines(_gap_note(gaps), axioms, terms)
        try:
            if far is not None:
                _write_distributed(
                    target, ending, head, far.reduced_lines(writer.format_assertions)
                )
            else:
                parts_ = () if add_set is None else _add_set_assertions(add_set)
                _write_local(
                    target,
                    ending,
                    chain(head, chain.from_iterable(starmap(writer.format_assertions, parts_))),
                )
        except ValueError as error:
            raise UsageError(
                f"{target}: {error}", "Name a file that ends with .nt, which has escapes for it."
            ) from error
    return gaps


def _declared_terms(tbox: ClausalTBox, values: Iterable[object]) -> set[tuple[str, str]]:
    """Collect the terms that need a declaration, except individuals."""
    atoms = map(owl.Class, (atom for atom in tbox.atoms if isinstance(atom, str)))
    found = {declared_term(part) for value in chain(values, atoms) for part in parts(value)}
    return {term for term in found if term is not None and term[0] != "NamedIndividual"}


def _write_local(target: Path, ending: str, lines: Iterator[str]) -> None:
    """Write lines, or the triples of a table, to a file on this machine."""
    if not ENDINGS[ending]:
        with open_replacement(target) as file:
            for line in chain(lines, [")"] if ending == ".ofn" else []):
                file.write(f"{line}\n".encode("utf-8", "backslashreplace"))
        return
    # Loaded where a table is written.
    import pyarrow as pa  # type: ignore[import-untyped]

    schema = pa.schema([(name, pa.string()) for name in ("s", "p", "o")])
    batches = (
        pa.RecordBatch.from_arrays([*map(pa.array, zip(*rows))], schema=schema)
        for rows in _term_batches(lines)
    )
    if ending == ".delta":
        from deltalake import write_deltalake

        write_deltalake(
            str(target.absolute()), pa.RecordBatchReader.from_batches(schema, batches), mode="error"
        )
        return
    from pyarrow.csv import CSVWriter  # type: ignore[import-untyped]
    from pyarrow.parquet import ParquetWriter  # type: ignore[import-untyped]

    with (
        open_replacement(target) as file,
        (CSVWriter if ending == ".csv" else ParquetWriter)(file, schema) as writer,
    ):
        for batch in batches:
            writer.write_batch(batch) if ending == ".parquet" else writer.write(batch)


def _term_batches(lines: Iterator[str]) -> Iterator[list[list[str]]]:
    """Split N-Triples ``lines`` into rows of terms, in batches."""
    texts = (line.encode("utf-8", "backslashreplace").decode().removesuffix(" .") for line in lines)
    while rows := [text.split(" ", 2) for text in islice(texts, _ROWS)]:
        yield rows


def _write_distributed(target: Path, ending: str, head: Iterator[str], lines: Any) -> None:
    """Write a table by Spark's executors, or a text file on this machine from the lines that they
    send.
    """
    if not ENDINGS[ending]:
        _write_local(target, ending, chain(head, (row.line for row in lines.toLocalIterator())))
        return
    from shiq.jobs.graphframes.add_set import parse_triples

    place = str(target.absolute())
    rows = parse_triples(
        lines.sparkSession.createDataFrame([(line,) for line in head], "line string").unionByName(
            lines
        )
    )
    if ending == ".csv":
        rows.write.csv(place, header=True)
        return
    rows.write.parquet(place)
    if ending == ".delta":
        from deltalake import convert_to_deltalake

        convert_to_deltalake(place)
