"""Report as one HTML page: it fetches nothing, is readable without its script, and begins with the
answer in words.

Many contradictions with one cause are one row and a few samples, so that the page stays small
however many there are. The templates are in `jobs/templates/report`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from shiq.explanation import ConflictGroup, Labels, Pattern
from shiq.inputs.reading import Place
from shiq.jobs.pages import CHARACTERS, cut_text, render
from shiq.jobs.reports.report import (
    CERTIFY,
    GATE,
    INDEX,
    Report,
    ReportedConflict,
    ReportedLeftover,
    StatedFact,
)
from shiq.jobs.reports.statement_reader import (
    TYPE,
    english_text,
    iri_or_node,
    manchester_text,
    read_line,
    read_literal,
)
from shiq.jobs.reports.words import (
    RULES,
    answer_word,
    bucket_text,
    headline,
    in_plain_words,
    input_rows,
    next_steps,
    other_reasons,
    summary,
    tone,
)
from shiq.model import RDF, XSD

#: Facts shown of one side of a contradiction; rows of a table.
FACTS: Final = 30
ROWS: Final = 200
#: Contradictions shown of one cause; causes shown with samples, and in the list of causes.
SAMPLES: Final = 5
CAUSES: Final = 100
CAUSE_ROWS: Final = 1000
#: If there are no more contradictions than this, all are shown.
FEW_CAUSES: Final = 25
#: Causes that are unfolded at first.
OPEN_CARDS: Final = 3

_IRI = re.compile(r"<([^<>\s]+)>")


def html_page(report: Report) -> str:
    """Render the HTML page of ``report``."""
    values = {
        "word": answer_word(report),
        "subject": _page_title(report),
        "tone": tone(report),
        "decision": report.decision,
        "headline": headline(report),
        "lead": summary(report),
        "figures": _head_figures(report),
        "made": _generator_text(report),
        "sections": _sections(report),
        "steps": next_steps(report),
        "reasons": other_reasons(report),
        **_cause_values(report),
        **_line_values(report),
        "evidence": _evidence_cards(report),
    }
    return render("report/page.html", **values)


def _sections(report: Report) -> list[tuple[str, str, str]]:
    """Select the sections of the page that have content in this report: (anchor and name of the
    template, title in the navigation, title).
    """
    known = (
        ("next", "What to do", "What to do next", next_steps(report)),
        ("causes", "Causes", "What contradicts what", report.conflicts),
        (
            "aside",
            "Set aside",
            "What was set aside",
            report.lines_with_own_reason or report.tolerated_lines,
        ),
        (
            "disputes",
            "Facts set aside before",
            "What contradicts facts set aside before",
            report.document.get("disputes", ()),
        ),
        ("same", "The same", "What becomes one and the same", report.identities),
        ("left", "Not understood", "What was not understood", report.leftovers),
        ("evidence", "Evidence", "Why this can be believed", True),
    )
    return [(id, link, title) for id, link, title, content in known if content]


# --- head and foot --------------------------------------------------------------------------------


def _page_title(report: Report) -> str:
    """Title of the page: what was asked about."""
    given = (
        report.request.get("insertions")
        or report.request.get("abox")
        or report.request.get("ontology")
        or ()
    )
    names = [PurePath(name).name for name in given]
    return ", ".join(names[:3]) + ("…" if len(names) > 3 else "") if names else "shiq"


def _head_figures(report: Report) -> list[tuple[str, str]]:
    """Figures in the head of the page: (title, value)."""
    s = report.statistics
    of_base = report.command in (CERTIFY, INDEX)
    found = []
    if report.command == GATE:
        accepted, aside = report.document.get("accepted", 0), len(report.quarantined_lines)
        found += [("lines accepted", f"{accepted:,}"), ("lines set aside", f"{aside:,}")]
    elif not of_base:
        new = s.get("insertions", 0)
        found.append(("new fact" if new == 1 else "new facts", f"{new:,}"))
    found.append(("facts" if of_base else "facts known", f"{s.get('assertions', 0):,}"))
    if report.conflicts or report.unexplained_count:
        plus = "+" if report.unexplained_count else ""
        for name, number in (
            ("contradiction", len(report.conflicts)),
            ("cause", len(report.causes)),
        ):
            found.append((name + ("" if number == 1 else "s"), f"{number:,}{plus}"))
    left = sum(x.number for x in report.leftovers if x.blocks)
    if left:
        found.append(("not understood", f"{left:,}"))
    seconds = sum(s.get("seconds", {}).values())
    return [*found, ("seconds", f"{seconds:,.1f}")] if seconds else found


def _generator_text(report: Report) -> str:
    """Text with the version of shiq that made the report, and the time."""
    about = report.request
    version = f"shiq {about['shiq']}" if about.get("shiq") else "shiq"
    return " ".join(filter(None, (version, str(about.get("made", "")))))


# --- facts and names ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageTerm:
    """Term of a fact as the page shows it: a name with its IRI, or a data value with its datatype.

    ``text``: what is shown; ``iri``: the name's IRI, or the value's datatype ("" for plain
    strings), which is called ``datatype``.
    """

    text: str
    iri: str
    is_value: bool = False
    datatype: str = ""


@dataclass(frozen=True, slots=True)
class PageFact:
    """Fact as the page shows it. ``text``: the line of data; ``triple``: its subject, predicate and
    object, if it is one.
    """

    text: str
    triple: tuple[PageTerm, PageTerm, PageTerm] | None
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class PageFacts:
    """Facts on one side (batch or base) of a contradiction. ``hidden_count``: number of further
    facts that are not shown.
    """

    facts: list[PageFact]
    hidden_count: int


def _page_term(text: str, labels: Labels) -> PageTerm:
    """Convert an N-Triples term for the page, with its label."""
    if not text.startswith('"'):
        iri = iri_or_node(text)
        return PageTerm(cut_text(labels.name_of(iri)), iri)
    value = read_literal(text)
    datatype = "" if value.datatype in (XSD + "string", RDF + "langString") else value.datatype
    return PageTerm(
        cut_text(value.lexical), datatype, True, labels.name_of(datatype) if datatype else ""
    )


def _page_fact(text: str, labels: Labels, places: tuple[Place, ...] = ()) -> PageFact:
    """Convert a line of data for the page, with the files and lines where it was read."""
    line = read_line(text)
    if line is None:
        return PageFact(text, None, places)
    iri = iri_or_node(line.predicate)
    predicate = PageTerm("is a" if line.predicate == TYPE else labels.name_of(iri), iri)
    triple = _page_term(line.subject, labels), predicate, _page_term(line.object, labels)
    return PageFact(text, triple, places)


def _page_facts(facts: Sequence[StatedFact], labels: Labels) -> PageFacts:
    """Convert the facts on one side of a contradiction for the page, at most `FACTS`."""
    shown = [_page_fact(fact.text, labels, fact.places) for fact in facts[:FACTS]]
    return PageFacts(shown, len(facts) - len(shown))


def _split_at_names(text: str, labels: Labels) -> list[str | PageTerm]:
    """Split a sentence into texts and names; each IRI in angle brackets becomes a name."""
    pieces = _IRI.split(cut_text(in_plain_words(text)))
    return [_page_term(f"<{piece}>", labels) if i % 2 else piece for i, piece in enumerate(pieces)]


# --- causes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageContradiction:
    """Contradiction as the page shows it. ``axioms``: each as a sentence and in Manchester syntax;
    ``source_texts``: its facts and axioms as they were read.
    """

    number: int
    sentence: str
    insertions: PageFacts
    base: PageFacts
    axioms: list[tuple[str, str]]
    keys: tuple[str, ...]
    remarks: tuple[str, ...]
    source_texts: list[str]


@dataclass(frozen=True, slots=True)
class PageCause:
    """Cause (pattern of contradictions) as the page shows it. ``share``: number of its
    contradictions, in percent of the most frequent cause; ``samples``: of the first causes only;
    ``is_open``: whether they are unfolded at first.
    """

    pattern: Pattern
    number_of_conflicts: int
    share: float
    samples: list[PageContradiction]
    is_open: bool

    @property
    def name(self) -> str:
        """Title of the cause, or its sentence if it has no title."""
        return self.pattern.title or self.pattern.sentence

    @property
    def title_or_id(self) -> str:
        """Title of the cause, or its id without one."""
        return self.pattern.title or self.pattern.id

    @property
    def rule_text(self) -> str:
        """Text about the OWL 2 RL rule of the cause."""
        return RULES.get(self.pattern.rule, "")


def _cause_values(report: Report) -> dict[str, Any]:
    """Template values for the page's section about causes of contradictions."""
    causes = report.causes
    disputes = report.disputes
    largest = max(1, len(causes[0].conflicts)) if causes else 1
    return {
        "total": len(report.conflicts),
        "is_minimal": bool(report.conflicts) and report.conflicts[0].get("minimal", True),
        "causes": [_page_cause(report, i, group, largest) for i, group in enumerate(causes)],
        "most_rows": CAUSE_ROWS,
        "most_cards": CAUSES,
        "disputes": [_page_contradiction(one, report.labels) for one in disputes[:FEW_CAUSES]],
        "number_of_disputes": len(disputes),
    }


def _page_cause(report: Report, position: int, group: ConflictGroup, largest: int) -> PageCause:
    """Convert a group of contradictions for the page. ``largest``: number of contradictions of the
    most frequent cause.
    """
    number = len(group.conflicts)
    shown = group.conflicts[: _number_of_samples(report, group)] if position < CAUSES else ()
    return PageCause(
        group.pattern,
        number,
        max(1.0, 100 * number / largest),
        [_page_contradiction(report.conflict_at(i), report.labels) for i in shown],
        position < OPEN_CARDS or len(report.conflicts) <= OPEN_CARDS,
    )


def _number_of_samples(report: Report, group: ConflictGroup) -> int:
    """Number of contradictions to show for one cause: all if there are few in total."""
    number = len(group.conflicts)
    return number if len(report.conflicts) <= FEW_CAUSES else min(number, SAMPLES)


def _page_contradiction(found: ReportedConflict, labels: Labels) -> PageContradiction:
    """Convert a contradiction for the page: sentence, facts and axioms."""
    terms = {
        iri_or_node(t)
        for f in (*found.insertions, *found.base)
        if (line := read_line(f.text))
        for t in line
        if t[0] in "<_"
    }
    labels = labels.distinguish(terms)
    facts = (*found.insertions[:FACTS], *found.base[:FACTS])
    axioms = found.axioms[:FACTS]
    return PageContradiction(
        found.number,
        cut_text(found.sentence, 4 * CHARACTERS),
        _page_facts(found.insertions, labels),
        _page_facts(found.base, labels),
        [(english_text(axiom, labels), manchester_text(axiom, labels)) for axiom in axioms],
        found.keys[:FACTS],
        found.remarks,
        [*(fact.text for fact in facts), *axioms],
    )


# --- lines of the batch ---------------------------------------------------------------------------


def _line_values(report: Report) -> dict[str, Any]:
    """Values of the page's section about lines in quarantine."""
    leftovers = sorted(report.leftovers, key=lambda left: not left.blocks)
    return {
        "at_hand": {
            i + 1
            for group in report.causes[:CAUSES]
            for i in group.conflicts[: _number_of_samples(report, group)]
        },
        "singled_out": [
            (line, _page_fact(line.text, report.labels))
            for line in report.lines_with_own_reason[:ROWS]
        ],
        "number_singled_out": len(report.lines_with_own_reason),
        "tolerated": [
            (line, _page_fact(line.text, report.labels)) for line in report.tolerated_lines[:ROWS]
        ],
        "number_tolerated": len(report.tolerated_lines),
        "identities": [_page_identity(raw, report.labels) for raw in report.identities[:ROWS]],
        "number_of_identities": len(report.identities),
        "leftovers": [_page_leftover(left) for left in leftovers[:ROWS]],
        "number_of_leftovers": len(leftovers),
        "blocking": sum(left.number for left in leftovers if left.blocks),
    }


def _page_identity(raw: Mapping[str, Any], labels: Labels) -> dict[str, list[Any]]:
    """Convert the JSON about individuals that the batch makes equal, with the facts and axioms from
    which that follows, for the page.
    """
    forms: Mapping[str, Callable[[str, Labels], Any]] = {
        "individuals": _page_term,
        "insertions": _page_fact,
        "base": _page_fact,
        "axioms": manchester_text,
    }
    return {
        name: [form(text, labels) for text in raw[name][:FACTS]] for name, form in forms.items()
    }


def _page_leftover(
    left: ReportedLeftover,
) -> tuple[ReportedLeftover, list[str | PageTerm], PageFact, list[str | PageTerm]]:
    """Return a statement that was not understood with its message, line and hint for the page.
    Names are shown by the ends of their IRIs, since labels would hide a misspelling; malformed text
    is shown as it is.
    """
    names = Labels(terms=_IRI.findall(f"{left.message} {left.hint} {left.text}"))
    line = PageFact(left.text, None) if left.kind == "malformed" else _page_fact(left.text, names)
    return left, _split_at_names(left.message, names), line, _split_at_names(left.hint, names)


# --- evidence -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EvidenceCard:
    """Table in the page's section about evidence. A row is (title, value), or (title, amount,
    percent of the largest amount) for a bar.
    """

    title: str
    pairs: Sequence[tuple[str, str]] = ()
    amounts: Sequence[tuple[str, str, float]] = ()


def _evidence_cards(report: Report) -> list[EvidenceCard]:
    """Make the tables of the section about evidence."""
    e, s = report.evidence, report.statistics
    ledger = [(bucket_text(name), n) for name, n in e.get("ledger", {}).items()]
    seconds = [(name, v) for name, v in s.get("seconds", {}).items() if v >= 0.005]
    cards = [
        EvidenceCard("What was asked", input_rows(report)),
        EvidenceCard("What was read", amounts=_amount_rows(ledger, "{:,}")),
        EvidenceCard("What was looked at", _scope_rows(report)),
        EvidenceCard("How it was decided", _decision_rows(report)),
        EvidenceCard("Certificate of what was known before", _certificate_rows(report)),
        EvidenceCard("Where the time went", amounts=_amount_rows(seconds, "{:,.2f} s")),
    ]
    return [card for card in cards if card.pairs or card.amounts]


def _amount_rows(rows: Sequence[tuple[str, float]], form: str) -> list[tuple[str, str, float]]:
    """Convert rows (title, amount) to (title, text, share of the largest amount in percent)."""
    largest = max((value for _, value in rows), default=0) or 1
    return [(title, form.format(value), 100 * value / largest) for title, value in rows]


def _scope_rows(report: Report) -> list[tuple[str, str]]:
    """Rows about the amount of data that the check read."""
    s = report.statistics
    if not s.get("add_set"):
        return []
    share = f", {s['add_set'] / s['assertions']:.2%} of those known" if s.get("assertions") else ""
    return [
        ("facts", f"{s['add_set']:,}{share}: the others are proven not to matter"),
        (
            "independent parts",
            f"{s.get('modules', 0):,}, of {s.get('shapes', 0):,} shapes; {s.get('reasoner_calls', 0):,} reasoned about",
        ),
        ("chosen by", str(report.evidence.get("criterion", ""))),
    ]


def _decision_rows(report: Report) -> list[tuple[str, str]]:
    """Rows about the reasoner, criterion and engine that decided."""
    e = report.evidence
    found = [("engine", str(e.get("engine", ""))), ("reasoner", str(e.get("reasoner", "")))]
    found += [(f"parts {name}", f"{n:,}") for name, n in sorted(e.get("decided", {}).items()) if n]
    found += [
        (f"HermiT: {name.replace('_', ' ')}", f"{n:,}") for name, n in e.get("sent", {}).items()
    ]
    found += [("not decided", why) for why in e.get("undecided", ())[:5]]
    if e.get("allowed"):
        found.append(("left out of account, as asked", ", ".join(e["allowed"])))
    if e.get("known"):
        found.append(
            (
                "known, and answered for",
                ", ".join(f"{n:,} {kind}" for kind, n in e["known"].items()),
            )
        )
    found += [("also", note) for note in e.get("notes", ())]
    if e.get("run"):
        found.append(("run", str(e["run"])))
    return found


def _certificate_rows(report: Report) -> list[tuple[str, str]]:
    """Rows about the certificate of the base."""
    names = {
        "verdict": "verdict",
        "snapshot": "snapshot",
        "date": "given on",
        "reasoner": "reasoner",
        "reason": "because",
        "tbox_hash": "ontology (hash)",
    }
    certificate = report.evidence.get("certificate", {})
    if report.command in (CERTIFY, INDEX):
        return []
    found = [
        (title, str(certificate[key]))
        for key, title in names.items()
        if certificate.get(key) not in (None, "", [])
    ]
    return found or [("verdict", "none: nothing was certified")]
