"""Safety check of rules: order body literals so that variables are bound before use; rewritings
that precede it (docs/RULES.md).

`order_rule_body` orders a body so that, from left to right, each literal finds its variables bound.
Both
evaluators rely on this order. `project_anonymous_variables` rewrites ``_`` under ``not`` and ``at
most``.
`split_recursive_predicates` splits predicates whose rules are distinguished by their arguments.
Both add
predicates that no program can name: ``p#x_`` is p without its second argument; ``p#1`` contains the
atoms of p from rule 1, input and facts. Proofs: docs/THEORY.md, "Stream rules in columns".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from shiq.streams.rules.splitting import dependency_arcs, ordered_components
from shiq.streams.rules.syntax import (
    AT_MOST,
    COUNT,
    FLIPPED_RELATIONS,
    Aggregate,
    AggregateElement,
    Atom,
    ComparisonLiteral,
    Constant,
    FunctionCall,
    Literal,
    ProgramProblem,
    StreamRule,
    Term,
    Value,
    Variable,
    WindowedLiteral,
    compare_constants,
    names_of_variables,
    term_variables,
)


def literal_terms(literal: Literal) -> list[Term]:
    """Terms of a literal; for an aggregate those of its elements, then of its guards."""
    if isinstance(literal, WindowedLiteral):
        return [*literal.atom.arguments, *([literal.count] if literal.count else [])]
    if isinstance(literal, ComparisonLiteral):
        return [literal.left_term, literal.right_term]
    if isinstance(literal, FunctionCall):
        return [*literal.inputs, *literal.outputs]
    inside = (term for element in literal.elements for term in element_terms(element))
    return [*inside, *(term for _, term in literal.guards)]


def element_terms(element: AggregateElement) -> list[Term]:
    """Terms of an aggregate element, with those of its body."""
    return [*element.terms, *(term for literal in element.body for term in literal_terms(literal))]


def all_literals(body: Iterable[Literal]) -> Iterator[Literal]:
    """Yield the literals of a rule body, with those inside its aggregates."""
    for literal in body:
        yield literal
        if isinstance(literal, Aggregate):
            for element in literal.elements:
                yield from element.body


def variable_occurrences(literal: Literal) -> list[Variable]:
    """Occurrences of variables in a literal, in the order of the program text."""
    found = [variable for term in literal_terms(literal) for variable in term_variables(term)]
    if isinstance(literal, Aggregate):
        found.sort(key=lambda variable: variable.position)
    return found


def _element_variables(element: AggregateElement) -> list[Variable]:
    """Occurrences of variables in an aggregate element, in the order of the program text."""
    return [variable for term in element_terms(element) for variable in term_variables(term)]


def global_variables(rule: StreamRule) -> set[str]:
    """Names of a rule's variables that occur outside the elements of aggregates."""
    found = names_of_variables(*rule.head.arguments)
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            found |= names_of_variables(*(term for _, term in literal.guards))
        else:
            found |= {variable.name for variable in variable_occurrences(literal)}
    return found


def _variable_names(terms: Iterable[Term]) -> set[str]:
    """Names of those ``terms`` that are variables."""
    return {term.name for term in terms if isinstance(term, Variable)}


def needed_and_bound_variables(literal: Literal, outer: Set[str]) -> tuple[set[str], set[str]]:
    """Names of the variables that must be bound before ``literal`` is evaluated, and of those that
    it binds.

    For an equation that can bind either term, see `is_literal_ready`.
    outer: global variables of the rule.
    """
    if isinstance(literal, WindowedLiteral):
        arguments, counted = (
            names_of_variables(*literal.atom.arguments),
            names_of_variables(*([literal.count] if literal.count else [])),
        )
        if literal.is_negated or (literal.operator == AT_MOST and not literal.binds):
            return arguments | counted, set()
        bound = _variable_names(literal.atom.arguments)
        if literal.operator == COUNT and isinstance(literal.count, Variable):
            return arguments - bound, bound | counted
        return (arguments | counted) - bound, bound
    if isinstance(literal, ComparisonLiteral):
        return names_of_variables(literal.left_term, literal.right_term), set()
    if isinstance(literal, FunctionCall):
        outputs = names_of_variables(*literal.outputs)
        return names_of_variables(*literal.inputs) | (
            outputs - _variable_names(literal.outputs)
        ), _variable_names(literal.outputs)
    inside = {
        variable.name for element in literal.elements for variable in _element_variables(element)
    }
    needed = inside & outer
    bound = set[str]()
    for relation, term in literal.guards:
        if relation == "=" and isinstance(term, Variable) and not literal.is_negated:
            bound.add(term.name)
        else:
            needed |= names_of_variables(term)
    return needed, bound - needed


def is_literal_ready(literal: Literal, bound: Set[str], outer: Set[str]) -> bool:
    """Whether a literal can be evaluated when the variables ``bound`` are bound. ``outer``: the
    rule's global variables.
    """
    if (
        isinstance(literal, ComparisonLiteral)
        and literal.relation == "="
        and not literal.is_negated
    ):
        left, right = (
            names_of_variables(literal.left_term) - bound,
            names_of_variables(literal.right_term) - bound,
        )
        if not right and left:
            return isinstance(literal.left_term, Variable)
        if not left and right:
            return isinstance(literal.right_term, Variable)
    return needed_and_bound_variables(literal, outer)[0] <= bound


def order_literals(
    body: Sequence[Literal], bound: Set[str], outer: Set[str]
) -> tuple[list[Literal], list[Literal], set[str]]:
    """Order the literals of ``body`` so that each can be evaluated when its turn comes; those that
    bind no variable come first.

    Returns: the order, the literals that never become ready, and the variables bound at the end.
    """
    order: list[Literal] = []
    waiting, known = list(body), set(bound)
    while True:
        ready = [literal for literal in waiting if is_literal_ready(literal, known, outer)]
        if not ready:
            return order, waiting, known
        following = next(
            (literal for literal in ready if not _variables_bound_after(literal, outer) - known),
            ready[0],
        )
        order.append(following)
        waiting.remove(following)
        known |= _variables_bound_after(following, outer)


def _variables_bound_after(literal: Literal, outer: Set[str]) -> set[str]:
    """Names of the variables that are bound once ``literal`` is true."""
    if isinstance(literal, Aggregate):
        return needed_and_bound_variables(literal, outer)[1]
    return {variable.name for variable in variable_occurrences(literal)}


def order_rule_body(
    rule: StreamRule, at_most_binds: bool, problems: list[ProgramProblem]
) -> StreamRule:
    """Order the body of ``rule`` so that variables are bound before use; report unsafe variables to
    ``problems``.

    at_most_binds: a positive "at most" with otherwise unbound variables ranges over the atoms with
    m ≥ 1.
    """
    outer = global_variables(rule)
    order, stuck, known = order_literals(rule.body, set(), outer)
    while at_most_binds and (binding := next(filter(_is_bindable, stuck), None)) is not None:
        marked = [
            replace(binding, binds=True) if literal is binding else literal
            for literal in (*order, *stuck)
        ]
        order, stuck, known = order_literals(marked, set(), outer)
    needed = (needed_and_bound_variables(literal, outer)[0] for literal in stuck)
    unsafe = names_of_variables(*rule.head.arguments).union(*needed) - known
    whole = [variable for term in rule.head.arguments for variable in term_variables(term)]
    could = {
        variable.name
        for literal in stuck
        if _is_bindable(literal)
        for variable in variable_occurrences(literal)
    }
    _report_unsafe_variables(
        unsafe,
        [
            *whole,
            *(variable for literal in rule.body for variable in variable_occurrences(literal)),
        ],
        problems,
        could,
    )
    done = [_order_aggregate_elements(literal, known | unsafe, problems) for literal in order]
    return replace(rule, body=tuple(done))


def _is_bindable(literal: Literal) -> TypeGuard[WindowedLiteral]:
    """Whether a literal is a positive "at most" that could range over the atoms in its window to
    bind its variables, but is not marked to do so.
    """
    return (
        isinstance(literal, WindowedLiteral)
        and literal.operator == AT_MOST
        and not literal.is_negated
        and not literal.binds
    )


def _order_aggregate_elements(
    literal: Literal, known: Set[str], problems: list[ProgramProblem]
) -> Literal:
    """Order the conditions inside an aggregate, as `order_rule_body` does for a body; other
    literals stay unchanged. ``known``: bound variables.
    """
    if not isinstance(literal, Aggregate):
        return literal
    elements = []
    for element in literal.elements:
        order, stuck, bound = order_literals(element.body, known, set())
        needed = (needed_and_bound_variables(inner, set())[0] for inner in stuck)
        _report_unsafe_variables(
            names_of_variables(*element.terms).union(*needed) - bound,
            _element_variables(element),
            problems,
        )
        body = tuple(inner for inner in order if not isinstance(inner, Aggregate))
        elements.append(replace(element, body=body))
    return replace(literal, elements=tuple(elements))


def _report_unsafe_variables(
    unsafe: Set[str],
    occurrences: Iterable[Variable],
    problems: list[ProgramProblem],
    bindable: Set[str] = frozenset(),
) -> None:
    """Add a problem for each of the ``unsafe`` variables at its first occurrence among
    ``occurrences``.

    bindable: variables that "at most" would bind with the option --at-most-binds.
    """
    for name in sorted(unsafe):
        first = min(
            (variable for variable in occurrences if variable.name == name),
            key=lambda variable: variable.position,
        )
        if first.is_anonymous:
            said = (
                "unsafe: _ is bound by nothing here; use it in positive literals only, "
                "or leave the argument to a rule of its own"
            )
        else:
            said = f"unsafe: the variable {name} is bound by no positive literal; add one that has it as an argument"
            said += ", or let at most bind it (--at-most-binds)" if name in bindable else ""
        problems.append(ProgramProblem(first.position, said))


# --- rewriting: the literals of a rule ------------------------------------------------------------

#: Programs are given no more predicates that divide others.
_MOST_PARTS = 256
#: A comparison of a variable with a constant, as (relation, constant).
Bound = tuple[str, Value]
Change = Callable[[WindowedLiteral, Mapping[str, Sequence[Bound]]], WindowedLiteral]


def rewrite_literals(rule: StreamRule, change: Change) -> StreamRule:
    """Apply ``change`` to each streaming literal of a rule. It gets the literal, and the constants
    with which the variables around it are compared.
    """
    outer = _constant_bounds(rule.body)

    def change_literal(literal: Literal) -> Literal:
        """Apply the change to a literal or to the elements of an aggregate."""
        if isinstance(literal, WindowedLiteral):
            return change(literal, outer)
        if not isinstance(literal, Aggregate):
            return literal
        elements = []
        for element in literal.elements:
            inner = _constant_bounds((*rule.body, *element.body))
            body = tuple(
                change(one, inner) if isinstance(one, WindowedLiteral) else one
                for one in element.body
            )
            elements.append(replace(element, body=body))
        return replace(literal, elements=tuple(elements))

    return replace(rule, body=tuple(map(change_literal, rule.body)))


def _constant_bounds(body: Iterable[Literal]) -> dict[str, list[Bound]]:
    """Comparisons with constants that a body states for each variable, as (operator, constant); a
    counted variable is at least 1.
    """
    found: dict[str, list[Bound]] = {}
    for literal in body:
        if isinstance(literal, ComparisonLiteral) and not literal.is_negated:
            for one, other, relation in (
                (literal.left_term, literal.right_term, literal.relation),
                (literal.right_term, literal.left_term, FLIPPED_RELATIONS[literal.relation]),
            ):
                if isinstance(one, Variable) and isinstance(other, Constant):
                    found.setdefault(one.name, []).append((relation, other.value))
        elif (
            isinstance(literal, WindowedLiteral)
            and literal.operator == COUNT
            and not literal.is_negated
        ):
            if isinstance(literal.count, Variable):
                found.setdefault(literal.count.name, []).append((">=", 1))
    return found


# --- the anonymous variable -----------------------------------------------------------------------


def project_anonymous_variables(
    rules: Iterable[StreamRule], at_most_binds: bool, problems: list[ProgramProblem]
) -> list[StreamRule]:
    """Replace each literal that contains ``_`` under ``not`` or "at most" by one over a new
    predicate without those arguments.

    at_most_binds: leave "at most" unchanged, since it ranges over atoms.
    """
    rules, added = list(rules), dict[str, StreamRule]()
    temporary = {rule.head.predicate for rule in rules if rule.is_temporary}

    def project_literal(literal: WindowedLiteral, _: object) -> WindowedLiteral:
        """Replace a literal with ``_`` by one over a projection, which is added to the rules."""
        arguments = literal.atom.arguments
        anonymous = [
            isinstance(argument, Variable) and argument.is_anonymous for argument in arguments
        ]
        if not any(anonymous) or not (
            literal.is_negated or (literal.operator == AT_MOST and not at_most_binds)
        ):
            return literal
        if literal.window is not None and literal.atom.predicate in temporary:
            said = f"_ in a window over {literal.atom.predicate}, of which a rule is #temp; give the projection a rule of its own"
            problems.append(ProgramProblem(literal.position, said))
            return literal
        name = f"{literal.atom.name}#{''.join('_' if skipped else 'x' for skipped in anonymous)}"
        kept = tuple(argument for argument, skipped in zip(arguments, anonymous) if not skipped)
        if name not in added:
            own = tuple(
                Variable(f"_{i}" if skipped else f"A{i}") for i, skipped in enumerate(anonymous, 1)
            )
            head = Atom(
                name, tuple(variable for variable, skipped in zip(own, anonymous) if not skipped)
            )
            body = (WindowedLiteral(Atom(literal.atom.name, own), position=literal.position),)
            added[name] = StreamRule(
                head, body, number=len(rules) + len(added), position=literal.position
            )
        return replace(literal, atom=replace(literal.atom, name=name, arguments=kept))

    return [*(rewrite_literals(rule, project_literal) for rule in rules), *added.values()]


# --- predicates by their arguments ----------------------------------------------------------------


@dataclass
class SplitRules:
    """Rules in which each recursive predicate was split into several, by the rules that derive it.

    parts: by predicate, the parts that receive its input and facts.
    """

    rules: list[StreamRule]
    parts: dict[str, list[str]] = field(default_factory=dict)


def split_recursive_predicates(rules: Sequence[StreamRule]) -> SplitRules:
    """Split recursive predicates by the rules that derive them, where a literal's constants can
    match only some rules' heads.

    A literal on a cycle then uses the part from the rules that can match it.
    """
    recursive = _recursive_predicates(rules)
    by_head: dict[str, list[StreamRule]] = {}
    for rule in rules:
        by_head.setdefault(rule.head.predicate, []).append(rule)
    heads = {rule.number: _constant_bounds(rule.body) for rule in rules}
    wanted: dict[tuple[str, tuple[int, ...]], str] = {}

    def choose_part(
        literal: WindowedLiteral, bounds: Mapping[str, Sequence[Bound]]
    ) -> WindowedLiteral:
        """Replace a recursive predicate by its part that can match the literal."""
        own = by_head.get(literal.atom.predicate, [])
        fitting = tuple(
            rule.number
            for rule in own
            if all(
                _may_be_equal(one, bounds, other, heads[rule.number])
                for one, other in zip(literal.atom.arguments, rule.head.arguments)
            )
        )
        if (
            literal.atom.predicate not in recursive
            or len(fitting) == len(own)
            or len(wanted) >= _MOST_PARTS
        ):
            return literal
        name = wanted.setdefault(
            (literal.atom.predicate, fitting),
            f"{literal.atom.name}#{','.join(map(str, fitting)) or '-'}",
        )
        return replace(literal, atom=replace(literal.atom, name=name))

    found = SplitRules([rewrite_literals(rule, choose_part) for rule in rules])
    by_number = {rule.number: rule for rule in found.rules}
    for (predicate, fitting), name in wanted.items():
        part = f"{name}/{predicate.rpartition('/')[2]}"
        found.parts.setdefault(predicate, []).append(part)
        for number in fitting:
            rule = by_number[number]
            found.rules.append(
                replace(rule, head=replace(rule.head, name=name), number=len(found.rules))
            )
    return found


def _recursive_predicates(rules: Sequence[StreamRule]) -> set[str]:
    """Predicates that depend on themselves through rules."""
    every = dependency_arcs(rules)
    found = {arc.source for arc in every if arc.source == arc.target}
    for members in ordered_components(dict.fromkeys(arc.source for arc in every), every):
        found |= set(members) if len(members) > 1 else set()
    return found


def _may_be_equal(
    left: Term,
    left_bounds: Mapping[str, Sequence[Bound]],
    right: Term,
    right_bounds: Mapping[str, Sequence[Bound]],
) -> bool:
    """Whether two arguments of atoms may be equal, given the constants that they are or are
    compared with. ``left_bounds``, ``right_bounds``: comparisons by variable.
    """
    if isinstance(left, Constant) and isinstance(right, Constant):
        return left.value == right.value
    if isinstance(left, Constant) and isinstance(right, Variable):
        return _satisfies_all(left.value, right_bounds.get(right.name, ()))
    if isinstance(left, Variable) and isinstance(right, Constant):
        return _satisfies_all(right.value, left_bounds.get(left.name, ()))
    return True


def _satisfies_all(value: Value, bounds: Collection[Bound]) -> bool:
    """Whether a constant satisfies all comparisons (operator, constant) in ``bounds``."""
    return all(compare_constants(value, relation, bound) for relation, bound in bounds)
