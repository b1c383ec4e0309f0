"""Dependencies between a program's predicates: strata, dependency and component graph, and
macro-nodes for evaluation side by side.

Source: docs/RULES.md, with errors of the paper corrected (docs/papers/CORRECTIONS.md): orders
satisfy all arcs; all pairs in a run are compared; a non-harmless use of a recursive component
separates as "<" does.

Strata are components of predicates in an order of evaluation. Cycles through non-harmless literals
are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from shiq.deprecation import RenamedAttribute
from shiq.model.roles import strong_components
from shiq.streams.rules.syntax import (
    Atom,
    Literal,
    ProgramProblem,
    Stratum,
    StreamRule,
    Term,
    Variable,
    WindowedLiteral,
    streaming_literals,
)


@dataclass(frozen=True)
class DependencyArc:
    """Arc of the dependency graph: the predicate ``source`` occurs in the body of ``rule``, whose
    head predicate is ``target``.
    """

    source: str
    target: str
    literal: WindowedLiteral
    is_harmless: bool
    rule: StreamRule


def dependency_arcs(rules: Iterable[StreamRule]) -> list[DependencyArc]:
    """Arcs of the dependency graph, one per streaming literal of a rule."""
    return [
        DependencyArc(literal.atom.predicate, rule.head.predicate, literal, harmless, rule)
        for rule in rules
        for literal, harmless in streaming_literals(rule.body)
    ]


def ordered_components(
    nodes: Iterable[str], arcs: Iterable[DependencyArc]
) -> list[tuple[str, ...]]:
    """Strongly connected components in topological order, of the graph with these ``nodes`` and the
    targets of ``arcs``.
    """
    successors: dict[str, list[str]] = {}
    for arc in arcs:
        successors.setdefault(arc.source, []).append(arc.target)
    every = {node: successors.get(node, []) for node in nodes}
    every |= {
        target: successors.get(target, [])
        for targets in successors.values()
        for target in targets
        if target not in every
    }
    return [tuple(members[::-1]) for members in strong_components(every)][::-1]


def make_strata(rules: Sequence[StreamRule], problems: list[ProgramProblem]) -> tuple[Stratum, ...]:
    """Group rules into strata in evaluation order. Report recursion through negation, counting or
    aggregates to ``problems``.
    """
    every = dependency_arcs(rules)
    heads = list(dict.fromkeys(rule.head.predicate for rule in rules))
    found, place = [], {}
    for number, members in enumerate(ordered_components(heads[::-1], every)):
        place.update(dict.fromkeys(members, number))
        own = tuple(rule for rule in rules if rule.head.predicate in members)
        found.append(
            Stratum(own, any(arc.source in members and arc.target in members for arc in every))
        )
    told = set[frozenset[str]]()
    for arc in every:
        if not arc.is_harmless and place.get(arc.source) == place[arc.target]:
            cycle = _find_cycle(arc, every)
            passed = frozenset(other.target for other in cycle)
            if passed not in told:
                problems.append(_describe_cycle(cycle))
            told.add(passed)
    return tuple(found)


def _find_cycle(arc: DependencyArc, every: Sequence[DependencyArc]) -> list[DependencyArc]:
    """Shortest cycle of the dependency graph that contains ``arc``, as arcs that begin with it."""
    came: dict[str, DependencyArc] = {}
    waiting = [arc.target]
    while arc.source not in (*came, arc.target):
        node = waiting.pop(0)
        for other in every:
            if other.source == node and other.target not in came:
                came[other.target] = other
                waiting.append(other.target)
    back, node = list[DependencyArc](), arc.source
    while node != arc.target:
        back.insert(0, came[node])
        node = came[node].source
    return [arc, *back]


def _describe_cycle(cycle: Sequence[DependencyArc]) -> ProgramProblem:
    """Problem that reports a cycle of the dependency graph which prevents stratification."""
    path = " → ".join([cycle[0].source, *(arc.target for arc in cycle)])
    shown = "; ".join(
        f"line {arc.rule.position.line}: {arc.literal} in {arc.rule}" for arc in cycle
    )
    said = "a cycle through negation, at most, count or an aggregate has no strata; make one of its rules not depend on it"
    return ProgramProblem(cycle[0].literal.position, f"{path}: {said} ({shown})")


#: Arcs (source, target) of a graph with their labels: True for "<".
LabelledGraph = Mapping[tuple[int, int], bool]


def flatten_rules(rules: Sequence[StreamRule]) -> tuple[tuple[StreamRule, ...], dict[str, str]]:
    """Flat rewriting: replace each streaming literal with a window by an atom of a new predicate.

    Equal atoms share one. Also returns the atom behind each fresh predicate (name with arity).
    """
    fresh: dict[tuple[object, ...], str] = {}
    used = {
        literal.atom.name
        for rule in rules
        for literal in rule.body
        if isinstance(literal, WindowedLiteral)
    }
    used |= {rule.head.name for rule in rules}
    counted: dict[str, int] = {}
    described: dict[str, str] = {}

    def name_of(literal: WindowedLiteral) -> tuple[str, tuple[Term, ...]]:
        """Predicate and arguments of the atom that replaces a streaming literal."""
        arguments = literal.atom.arguments
        varies = literal.count is not None and isinstance(literal.count, Variable)
        extra: tuple[Term, ...] = (literal.count,) if varies and literal.count is not None else ()
        of = (
            literal.atom.predicate,
            literal.operator,
            None if varies else literal.count,
            literal.window,
        )
        if of not in fresh:
            number = counted.get(literal.atom.name, 0)
            while (name := f"{literal.atom.name}_aux{number + 1}") in used:
                number += 1
            counted[literal.atom.name] = number + 1
            fresh[of] = name
            formal = tuple(Variable(f"X{i}") for i in range(1, len(arguments) + 1))
            whole = replace(literal, atom=Atom(literal.atom.name, formal), is_negated=False)
            shown = replace(whole, count=Variable("N")) if extra else whole
            described[f"{name}/{len(arguments) + len(extra)}"] = str(shown)
        return fresh[of], (*arguments, *extra)

    def rewrite_literal(literal: Literal) -> Literal:
        """Replace a non-degenerate streaming literal by its fresh atom."""
        if not isinstance(literal, WindowedLiteral) or literal.window is None:
            return literal
        name, arguments = name_of(literal)
        return WindowedLiteral(
            Atom(name, arguments, literal.atom.position),
            is_negated=literal.is_negated,
            position=literal.position,
        )

    flattened = tuple(replace(rule, body=tuple(map(rewrite_literal, rule.body))) for rule in rules)
    return flattened, described


@dataclass(frozen=True)
class DependencyGraphs:
    """Stream dependency graph of a program, and its graph of strongly connected components.

    labels: the stream dependency graph between head predicates; True for an arc "<".
    members: predicates of each node of the stream component graph.
    separated_components: (i, j) where a rule of component j has a non-harmless literal about the
    recursive component i.
    """

    labels: Mapping[tuple[str, str], bool]
    members: tuple[tuple[str, ...], ...]
    separated_components: frozenset[tuple[int, int]]

    # Old names, until 0.3.
    separated = RenamedAttribute("separated_components")
    apart = RenamedAttribute("separated_pairs")
    ready = RenamedAttribute("ready_components")
    runs = RenamedAttribute("macro_nodes_of")

    @cached_property
    def graph(self) -> LabelledGraph:
        """Arcs (source, target) of the component graph; True if one of the literals behind an arc
        has a window (label "<").
        """
        place = self._component_indexes
        found: dict[tuple[int, int], bool] = {}
        for (p, q), label in self.labels.items():
            arc = place[p], place[q]
            if arc[0] != arc[1]:
                found[arc] = found.get(arc, False) or label
        return found

    @cached_property
    def _component_indexes(self) -> dict[str, int]:
        """Index of each predicate's component."""
        return {predicate: i for i, members in enumerate(self.members) for predicate in members}

    @cached_property
    def precedes(self) -> frozenset[tuple[int, int]]:
        """Relation ≺ between components: pairs (i, j) with a path from i to j that has an arc
        labelled "<" (a literal with a window).
        """
        return frozenset(self._paths_through({arc for arc, label in self.graph.items() if label}))

    @cached_property
    def separated_pairs(self) -> frozenset[tuple[int, int]]:
        """Pairs of components that no macro-node may contain: those in ≺, and those linked by
        negation, counting or aggregates over a recursive component.
        """
        return frozenset(
            self._paths_through(
                {arc for arc, label in self.graph.items() if label} | self.separated_components
            )
        )

    def _paths_through(self, strict: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield the pairs of components that are joined by a path through one of the ``strict``
        arcs.
        """
        strict, size = set(strict), len(self.members)
        following: dict[int, set[int]] = {}
        for i, j in self.graph:
            following.setdefault(i, set()).add(j)
        for start in range(size):
            seen, waiting = set[tuple[int, bool]](), [(start, False)]
            while waiting:
                node, passed = waiting.pop()
                for other in following.get(node, ()):
                    state = other, passed or (node, other) in strict
                    if state not in seen:
                        seen.add(state)
                        waiting.append(state)
            yield from ((start, node) for node, passed in seen if passed)

    def ready_components(self, done: Sequence[int]) -> list[int]:
        """Indexes of the components not in ``done`` whose predecessors are all in it."""
        blocked = {j for (i, j) in self.graph if i not in done}
        return [
            node for node in range(len(self.members)) if node not in done and node not in blocked
        ]

    def macro_nodes_of(self, order: Iterable[int]) -> tuple[tuple[int, ...], ...]:
        """Group an order of components into macro-nodes: maximal runs of components that contain no
        separated pair.
        """
        found: list[tuple[int, ...]] = []
        for node in order:
            if found and not any((before, node) in self.separated_pairs for before in found[-1]):
                found[-1] = (*found[-1], node)
            else:
                found.append((node,))
        return tuple(found)

    @cached_property
    def macro_nodes(self) -> tuple[tuple[int, ...], ...]:
        """Macro-nodes (groups of components that are evaluated together), for a topological order
        that makes each as long as possible.
        """
        done: list[int] = []
        run: list[int] = []
        while len(done) < len(self.members):
            ready = self.ready_components(done)
            joining = (
                node
                for node in ready
                if not any((before, node) in self.separated_pairs for before in run)
            )
            node = next(joining, None)
            if node is None:
                node, run = ready[0], []
            run.append(node)
            done.append(node)
        return self.macro_nodes_of(done)

    def is_streaming_recursive(self, rule: StreamRule) -> bool:
        """Whether the head of ``rule`` depends on itself through its body and at least one window."""
        place = self._component_indexes[rule.head.predicate]
        inside = self.members[place]
        if not any(label and p in inside and q in inside for (p, q), label in self.labels.items()):
            return False
        return any(
            isinstance(literal, WindowedLiteral) and literal.atom.predicate in inside
            for literal in rule.body
        )


def build_dependency_graphs(rules: Sequence[StreamRule]) -> DependencyGraphs:
    """Compute the dependency and component graph of a program's rules."""
    heads = list(dict.fromkeys(rule.head.predicate for rule in rules))
    every = [arc for arc in dependency_arcs(rules) if arc.source in heads]
    labels: dict[tuple[str, str], bool] = {}
    for arc in every:
        label = arc.literal.window is not None
        labels[arc.source, arc.target] = labels.get((arc.source, arc.target), False) or label
    members = tuple(
        tuple(sorted(component, key=heads.index))
        for component in ordered_components(heads[::-1], every)
    )
    place = {predicate: i for i, component in enumerate(members) for predicate in component}
    recursive = {place[p] for p, q in labels if place[p] == place[q]}
    separated = frozenset(
        (place[arc.source], place[arc.target])
        for arc in every
        if not arc.is_harmless and place[arc.source] in recursive
    )
    return DependencyGraphs(labels, members, separated)


def render_graphviz(graphs: DependencyGraphs) -> str:
    """Stream dependency graph in Graphviz's DOT language, with boxes for components and
    macro-nodes.
    """

    def quote(text: str) -> str:
        """Quote a text for Graphviz."""
        return '"' + text.replace('"', "'") + '"'

    lines = ["digraph rules {", "  rankdir=LR;"]
    for number, nodes in enumerate(graphs.macro_nodes, 1):
        lines.append(f'  subgraph cluster_{number} {{ label="macro-node {number}";')
        for node in nodes:
            inner = " ".join(quote(predicate) + ";" for predicate in graphs.members[node])
            lines.append(
                f'    subgraph cluster_{number}_{node} {{ label=""; style=rounded; {inner} }}'
            )
        lines.append("  }")
    for (p, q), label in sorted(graphs.labels.items()):
        lines.append(f"  {quote(p)} -> {quote(q)}{' [label=' + quote('<') + ']' if label else ''};")
    return "\n".join([*lines, "}", ""])
