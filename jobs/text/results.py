r"""Text of the result of a check: verdict, leftovers, conflicts and figures; other commands use
parts of it.

IRIs shortened for a terminal, by the prefixes that the files which were read declare.

>>> shorten("<urn:t#a> <urn:t#says> \"<urn:t#b>\" of <urn:else>", {"urn:t#": "t"})
't:a t:says "<urn:t#b>" of <urn:else>'
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiq.answers.result import Evidence, Result
from shiq.answers.verdict import (
    INFORMATIVE,
    UNINTERPRETED,
    Leftover,
    Verdict,
    count_leftovers,
    count_waived,
)
from shiq.errors import ShiqError
from shiq.inputs.reading import Place
from shiq.inputs.sources import FileSource, classify_input
from shiq.jobs.checking.options import is_unsliced_note
from shiq.support import pluralize

if TYPE_CHECKING:
    from shiq.answers.repair import RepairPlan
    from shiq.answers.result import Conflict
    from shiq.explanation import ConflictGroup


#: Kinds of leftovers that were interpreted, or are no part of the input, and are told all the same.
NOTES = frozenset(
    {"unmatched-deletion", "unsatisfiable-class", "set-aside", "passed-over", "many-equal", "hub"}
)

#: Conflicts and leftovers shown without --verbose.
SHOWN = 10

#: Leftovers shown without --verbose that are for information only.
_MOST_OTHERS = 3

#: Places of one assertion that are shown.
MOST_PLACES = 3


def result_text(result: Result, *, verbose: bool = False) -> str:
    """Text of a result: verdict, reasons, figures."""
    lines = [result.verdict.value.upper() + _allowance_text(result) + _foreign_text(result)]
    if result.reason:
        lines += [f"  {part}" for part in result.reason.split("; ")]
    if known := count_waived(result.evidence.leftovers):
        lines += [
            f"  known, and left out of account: {', '.join(f'{n:,} {kind}' for kind, n in known.items())}"
        ]
    if result.verdict is Verdict.INCONSISTENT:
        lines += _conflict_texts(result, verbose)
        lines += _repair_texts(result.repairs, verbose)
    lines += leftover_lines(result.evidence, verbose)
    lines += ["", *figure_lines(result)]
    lines += _pulled_lines(result, verbose)
    if result.committed:
        lines += [f"committed: the store holds snapshot {result.committed}"]
    return "\n".join(lines)


def _foreign_text(result: Result) -> str:
    """For a consistent verdict: text about the share of statements that use terms which the
    ontology does not define.
    """
    foreign = result.evidence.ledger.get("leftover:foreign", 0)
    if not foreign or result.verdict is not Verdict.CONSISTENT:
        return ""
    total = foreign + result.evidence.ledger.get("assertion", 0)
    return f", {foreign:,} of {total:,} lines use terms that the ontology does not know"


def _allowance_text(result: Result) -> str:
    """Text about leftovers that the verdict ignores because the user allowed them."""
    out = result.without
    if not out:
        return ""
    counts = [pluralize(out[name], name[:-1]) for name in ("axioms", "assertions") if out[name]]
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in out["kinds"].items())
    return f" without {', '.join(counts)} ({kinds})" if counts else f" without what is {kinds}"


def _pulled_lines(result: Result, verbose: bool) -> list[str]:
    """Lines about why the check read individuals that the batch does not mention, if
    ``--why-pulled`` asked for them.
    """
    if result.why_pulled is None:
        return []
    if not result.why_pulled:
        return ["", "nothing was pulled in: the check looked at what the batch touches alone"]
    lines = [
        "",
        f"{sum(x.count for x in result.why_pulled):,} pulled in, by what asked for them first:",
    ]
    for x in result.why_pulled if verbose else result.why_pulled[:SHOWN]:
        lines += [
            f"  {x.count:>9,}  {escape_controls(x.text) or _PULL_REASONS[x.reason]}",
            *(f"  {'':9}    {escape_controls(a)}" for a in x.axioms),
        ]
        lines += [f"  {'':9}    such as {escape_controls(', '.join(x.examples))}"]
    if not verbose and len(result.why_pulled) > SHOWN:
        lines += [
            f"  … {len(result.why_pulled) - SHOWN:,} more reasons: -v shows them, --json FILE writes them."
        ]
    return lines


_PULL_REASONS = {
    "roles": "an axiom on roles, or a negative assertion",
    "equality": "individuals that the batch makes equal",
}


def _conflict_texts(result: Result, verbose: bool) -> list[str]:
    """Lines about the conflicts, grouped by cause."""
    found = len(result.conflicts)
    if not found:
        return [f"{pluralize(result.more_conflicts, 'contradiction')}, not explained."]
    more = f", and {result.more_conflicts:,} more not explained" if result.more_conflicts else ""
    groups = result.groups
    causes = f" with {pluralize(len(groups), 'cause')}" if found > 1 else ""
    minimal = "minimal " if all(conflict.is_minimal for conflict in result.conflicts) else ""
    lines = [f"{pluralize(found, f'{minimal}conflict')}{causes}{more}:"]
    for group in groups if verbose else groups[:SHOWN]:
        lines += ["", *_group_lines(result, group, verbose)]
    if not verbose and len(groups) > SHOWN:
        left = sum(len(group.conflicts) for group in groups[SHOWN:])
        lines += [
            "",
            f"… {len(groups) - SHOWN:,} more causes, {left:,} conflicts: -v shows them, --json FILE writes them.",
        ]
    return lines


def _repair_texts(plan: RepairPlan | None, verbose: bool) -> list[str]:
    """Lines about repairs, if they were asked for."""
    if plan is None:
        return []
    if not plan.is_verified:
        return ["", f"no repair: {escape_controls(plan.reason)}"]
    smallest = " and no fewer would do" if plan.is_smallest else ""
    lines = [
        "",
        f"{'the base alone ' if plan.is_for_base else ''}would be consistent with "
        f"{pluralize(len(plan.changes), 'change')} (checked{smallest}):",
    ]
    for change in plan.changes if verbose else plan.changes[:SHOWN]:
        at = f"  at {places_text(change.places)}" if change.places else "  in the base"
        lines += [f"  remove   {escape_controls(row)}" for row in change.removed_lines]
        lines += [f"  write    {escape_controls(row)}" for row in change.added_lines]
        lines[-1] += escape_controls(at)
    if not verbose and len(plan.changes) > SHOWN:
        lines += [f"  … {len(plan.changes) - SHOWN:,} more changes: -v shows them"]
    return lines


def _group_lines(result: Result, group: ConflictGroup, verbose: bool) -> list[str]:
    """Lines about a cause: title, sentence and one of its conflicts; all of them with ``verbose``."""
    times, pattern = len(group.conflicts), group.pattern
    lines = [
        f"{f'{times:,} × ' if times > 1 else ''}{escape_controls(pattern.title)}  [{pattern.id}]"
    ]
    if times > 1:
        lines.append(f"  {escape_controls(pattern.sentence)}")
    for place in group.conflicts if verbose else group.conflicts[:1]:
        title, *rows = conflict_lines(place + 1, result.conflicts[place])
        lines += [title, f"  {escape_controls(result.explained.sentence(place))}", *rows]
    return lines


def conflict_lines(number: int, conflict: Conflict) -> list[str]:
    """Lines about a conflict, with the place of each insertion."""
    lines = [f"conflict {number}{'' if conflict.is_minimal else ' (not shown to be minimal)'}"]
    for title, rows in (
        ("inserted", conflict.insertions),
        ("base", conflict.base),
        ("axioms", conflict.axioms),
    ):
        of_each = {"inserted": conflict.places, "base": conflict.base_places}.get(title, ())
        for i, row in enumerate(rows):
            lines.append(f"  {title if i == 0 else '':9}{escape_controls(row)}")
            places = of_each[i] if i < len(of_each) else ()
            # The lines of one assertion have the places of that.
            if places and (i + 1 == len(rows) or i + 1 >= len(of_each) or of_each[i + 1] != places):
                lines.append(f"  {'':11}at {escape_controls(places_text(places))}")
        if title == "axioms":
            lines += [
                f"  {'from' if i == 0 else '':9}shiq's table of {name}"
                for i, name in enumerate(conflict.vocabularies)
            ]
        if title == "inserted":
            lines += [
                f"  {'in' if i == 0 else '':9}{escape_controls(graph)}"
                for i, graph in enumerate(conflict.graphs)
            ]
    return lines


def places_text(places: Sequence[Place]) -> str:
    """Text with the first of the files and lines where a fact was read."""
    named = list(dict.fromkeys(map(str, places)))
    more = [f"{len(named) - MOST_PLACES:,} more places"] if len(named) > MOST_PLACES else []
    return ", ".join([*named[:MOST_PLACES], *more])


def leftover_lines(evidence: Evidence, verbose: bool) -> list[str]:
    """Lines about the statements of base and batch that were not interpreted."""
    fail_on = INFORMATIVE if UNINTERPRETED in evidence.fail_on else frozenset(evidence.fail_on)
    return leftovers_text(evidence.leftovers, evidence.allowed, fail_on, verbose)


def leftovers_text(
    leftovers: Sequence[Leftover],
    allowed: Collection[str],
    fail_on: frozenset[str] = frozenset(),
    verbose: bool = False,
) -> list[str]:
    """Lines about statements that were not interpreted: the count of each kind, then the first
    ones.
    """
    if not leftovers:
        return []
    kinds: dict[tuple[str, str], list[Leftover]] = {}
    for leftover in leftovers:
        kind = leftover.kind
        standing = ""
        if kind in allowed:
            standing = " (allowed)"
        elif kind in INFORMATIVE - fail_on:
            standing = " (for information)"
        elif leftover.agreed and kind not in fail_on:
            standing = " (of the base, allowed when it was certified)"
        elif leftover.known and kind not in fail_on:
            standing = " (known)"
        kinds.setdefault((kind, standing), []).append(leftover)
    parts = [
        f"{count_leftovers(kind, found)}{standing}"
        for (kind, standing), found in sorted(kinds.items())
    ]
    lines = [
        "",
        f"{'not interpreted' if {kind for kind, _ in kinds} - NOTES else 'to be known'}: {', '.join(parts)}",
    ]
    in_the_way = {id(x) for (_, standing), found in kinds.items() if not standing for x in found}
    blocking = [x for x in leftovers if id(x) in in_the_way]
    others = [x for x in leftovers if id(x) not in in_the_way and (verbose or not x.known)]
    new = [*blocking, *others]
    if verbose:
        shown = new
    else:
        # What does not stand in the way never fills the lines that are shown: one of each kind,
        # where there is room.
        firsts = list({x.kind: x for x in reversed(others)}.values())[::-1]
        shown = [*blocking[:SHOWN], *firsts[: max(0, min(_MOST_OTHERS, SHOWN - len(blocking)))]]
    for leftover in shown:
        times = f" × {leftover.number:,}" if leftover.number > 1 else ""
        # Where there is no line to look at, the text is all that says what is meant.
        text = f": {leftover.text}" if leftover.text and not leftover.line else ""
        lines.append(f"  {escape_controls(str(leftover))}{times}{escape_controls(text)}")
    if len(shown) < len(new):
        lines.append(f"  … {len(new) - len(shown):,} more: -v shows them.")
    return lines


def figure_lines(result: Result) -> list[str]:
    """Lines about sizes and times of a check."""
    s = result.statistics
    seconds = "  ".join(
        f"{stage} {value:.2f} s" for stage, value in s.seconds.items() if value >= 0.005
    )
    share = (
        f" ({s.add_set / s.assertions:.2%} of the base)"
        if s.add_set <= s.assertions and s.assertions
        else ""
    )
    snapshot = f" (snapshot {result.snapshot})" if result.snapshot else ""
    about = f"base {pluralize(s.assertions, 'assertion')}{snapshot}"
    # Else the base was checked by itself, without a batch.
    if result.evidence.certificate.keys() != {"verdict"}:
        about += f", {s.insertions:,} inserted"
        if s.insertions:
            share += f", {s.add_set / s.insertions:.1f} for each inserted"
        share += f", {pluralize(s.pulled_in, 'individual')} pulled in"
    return [
        f"{about}; looked at {s.add_set:,}{share}",
        f"{pluralize(s.modules, 'module')} of {pluralize(s.shapes, 'shape')}, {s.reasoner_calls:,} put to the reasoner "
        f"({result.evidence.criterion}, {result.evidence.engine}, {result.evidence.reasoner})",
        *_sent_lines(result.evidence),
        *(note for note in result.evidence.notes if not is_unsliced_note(note)),
        seconds,
    ]


def _sent_lines(evidence: Evidence) -> list[str]:
    """Lines about questions that were sent to other reasoners."""
    sent = evidence.sent
    if not sent.get("questions"):
        return []
    return [
        f"{pluralize(sent['questions'], 'question')} to a reasoner outside: {sent['axioms_sent']:,} axioms sent, "
        + (
            f"{sent['axioms_parsed']:,} seen to be read"
            if sent["axioms_parsed"]
            else "how many it read it does not say"
        )
    ]


def seconds_text(seconds: Mapping[str, float]) -> str:
    """Text with the seconds that each stage took."""
    return ", ".join(f"{name} {spent:.1f} s" for name, spent in seconds.items())


def escape_controls(text: str) -> str:
    """Escape characters that could move the cursor or hide text."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04X}" for c in text)


#: Prefixes stand at the beginning of a file.
_HEAD_BYTES = 1 << 16
_IRI = r"[A-Za-z][A-Za-z0-9+.\-]*:[^<>\"\s&]+"
_DECLARATION = re.compile(
    rf"(?:@prefix|\bprefix)\s+(?P<turtle>[\w.-]*):\s*<(?P<of_turtle>{_IRI})>"
    rf"|\bPrefix\s*\(\s*(?P<functional>[\w.-]*):\s*=\s*<(?P<of_functional>{_IRI})>"
    rf"|\bxmlns:(?P<xml>[\w.-]+)\s*=\s*[\"'](?P<of_xml>{_IRI})[\"']"
    rf"|<(?:\w+:)?Prefix\s+name\s*=\s*[\"'](?P<owl_xml>[\w.-]*)[\"']\s+IRI\s*=\s*[\"'](?P<of_owl_xml>{_IRI})[\"']",
    re.IGNORECASE,
)
_SYNTAXES = ("turtle", "functional", "xml", "owl_xml")
_TERM = re.compile(r'"(?:[^"\\\n]|\\.)*"|<([^<>\s"]*)>')
_LOCAL = re.compile(r"\w(?:[\w.-]*[\w-])?")


def file_prefixes(
    inputs: Mapping[str, Any],
    names: Iterable[str] = ("tbox", "ontology", "abox", "insertions", "deletions"),
) -> dict[str, str]:
    """Read the prefixes that the input files declare. Returns prefixes by namespace. If a prefix or
    namespace is declared differently, the first declaration counts.
    """
    found: dict[str, str] = {}
    for name in names:
        given = inputs.get(name) or ()
        for file in [given] if isinstance(given, str | Path) else given:
            with suppress(ShiqError, OSError, ValueError):
                for prefix, namespace in _read_declarations(str(file)):
                    if namespace not in found and prefix not in found.values():
                        found[namespace] = prefix
    return found


def shorten(text: str, prefixes: Mapping[str, str]) -> str:
    """Shorten the IRIs in angle brackets of ``text`` by ``prefixes``; quoted texts stay."""
    return _TERM.sub(lambda match: _short_name(match, prefixes), text) if prefixes else text


def _read_declarations(file: str) -> Iterable[tuple[str, str]]:
    """Read the prefix declarations at the beginning of a file."""
    if file == "-" or not Path(file).is_file():
        return
    source = classify_input(file)
    if not isinstance(source, FileSource):
        return
    with source.open() as stream:
        head = stream.read(_HEAD_BYTES).decode("utf-8", "ignore")
    for match in _DECLARATION.finditer(head):
        for syntax in _SYNTAXES:
            if match[f"of_{syntax}"]:
                yield match[syntax], match[f"of_{syntax}"]


def _short_name(match: re.Match[str], prefixes: Mapping[str, str]) -> str:
    """Prefixed name of a matched IRI, or the IRI itself."""
    iri = match[1]
    if not iri:
        return match[0]
    for cut in (iri.rfind("#") + 1, iri.rfind("/") + 1, iri.rfind("_") + 1, iri.rfind(":") + 1):
        if cut and iri[:cut] in prefixes and _LOCAL.fullmatch(iri, cut):
            return f"{prefixes[iri[:cut]]}:{iri[cut:]}"
    return match[0]
