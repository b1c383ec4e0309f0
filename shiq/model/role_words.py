"""Automata for the words of roles that a non-simple role includes (THEORY, "Chains and loops").

With w ⊑ R for chains w, and R∘R ⊑ R for transitive R, a pair is in S iff some word of L(S) links
it. L(S) is regular if the chains are (OWL 2, section 11.2). B_S has i –S→ f; RR ⊑ R: f –ε→ i; Rw ⊑
R: f –w→ f; wR ⊑ R: i –w→ i; w ⊑ R: i –w→ f. Letters that are not simple are replaced by copies of
their automata. Each chain is used with its mirror image; letters equivalent to S are read as S.

Source: Horrocks, Kutz, Sattler, The even more irresistible SROIQ, KR 2006.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from shiq import model as owl
from shiq.errors import UsageError
from shiq.model.roles import Role, RoleBox, role_box, role_of

#: A role whose automaton has more states is not eliminated.
MOST_STATES = 20_000

#: Steps by (state, letter, state); the letter None is ε.
_Steps: TypeAlias = "set[tuple[int, Role | None, int]]"


class IrregularRolesError(UsageError):
    """Error: the role axioms violate a global restriction of OWL 2 DL, or need too large an
    automaton.

    ``str`` is the reason. ``roles``: the violation comes from the chains into these roles; if
        empty, from all chains.
    """

    def __init__(self, message: str, roles: Iterable[Role] = ()) -> None:
        super().__init__(message)
        self.roles = frozenset(roles)


@dataclass(frozen=True)
class WordAutomaton:
    """A nondeterministic automaton that accepts words of roles. States are 0 … size-1, the start
    state is 0, without ε-steps.
    """

    size: int
    steps: frozenset[tuple[int, Role, int]]
    finals: frozenset[int]


class RolePaths:
    """For each role, the automaton of the role words (paths) that imply it, by inclusions,
    transitivity and chains.
    """

    def __init__(self, axioms: Iterable[owl.Axiom]) -> None:
        axioms = list(axioms)
        self.roles: RoleBox = role_box(axioms)
        box = self.roles
        chains = [
            (tuple(map(role_of, a.chain)), role_of(a.sup))
            for a in axioms
            if isinstance(a, owl.SubObjectPropertyChain)
        ]
        rules = [
            *chains,
            *(((r, r), r) for r in box.transitive),
            *(((r,), s) for r, s in box.inclusions),
        ]
        self._rules: dict[Role, set[tuple[Role, ...]]] = defaultdict(set)
        for word, sup in rules:
            self._rules[self.representative(sup)].add(tuple(map(self.representative, word)))
            self._rules[self.representative(sup.inverse)].add(
                tuple(self.representative(r.inverse) for r in reversed(word))
            )
        self._automata: dict[Role, WordAutomaton] = {}
        self._in_progress: list[Role] = []

    def representative(self, role: Role) -> Role:
        """Return one fixed role among those equivalent to ``role``."""
        return min(self.roles.superroles(role) & self.roles.subroles(role))

    def automaton(self, role: Role) -> WordAutomaton:
        """Return the automaton of the role words that imply ``role``. Raises: IrregularRolesError."""
        name = self.representative(role)
        if name not in self._automata:
            if any(name in (r, self.representative(r.inverse)) for r in self._in_progress):
                names = " ≺ ".join(f"<{r.iri}>" for r in (*self._in_progress, name))
                raise IrregularRolesError(
                    f"the property chains are not regular: {names} (OWL 2 DL, section 11.2)",
                    (*self._in_progress, name),
                )
            self._in_progress.append(name)
            try:
                self._automata[name] = self._build_automaton(name)
            finally:
                self._in_progress.pop()
        return self._automata[name]

    def _build_automaton(self, name: Role) -> WordAutomaton:
        """Build the automaton of the role words that imply one role, from those of the roles below
        it. Raises: IrregularRolesError.
        """
        steps: _Steps = {(0, name, 1)}
        size = 2

        def add_path(start: int, word: Sequence[Role], end: int) -> None:
            """Add a path of roles between two states."""
            nonlocal size
            here = start
            for i, letter in enumerate(word):
                there = end if i == len(word) - 1 else size
                size += there == size
                if self.roles.is_simple(letter):
                    steps.add((here, letter, there))
                else:
                    inner = self.automaton(letter)
                    steps.update((size + p, r, size + q) for p, r, q in inner.steps)
                    steps.add((here, None, size))
                    steps.update((size + f, None, there) for f in inner.finals)
                    size += inner.size
                if size > MOST_STATES:
                    raise IrregularRolesError(
                        f"the chains below <{name.iri}> need an automaton of more than {MOST_STATES:,} states",
                        (name,),
                    )
                here = there

        for word in sorted(self._rules[name]):
            if word == (name,):
                continue
            if word == (name, name):
                steps.add((1, None, 0))
            elif name not in word:
                if len(word) > 1 or not self.roles.is_simple(word[0]):
                    add_path(0, word, 1)
            elif word[0] == name and name not in word[1:]:
                add_path(1, word[1:], 1)
            elif word[-1] == name and name not in word[:-1]:
                add_path(0, word[:-1], 0)
            else:
                raise IrregularRolesError(
                    f"a property chain into <{name.iri}> has it in its midst: it is not regular (OWL 2 DL, section 11.2)",
                    (name,),
                )
        return self._minimise(_remove_empty_steps(steps, size, {1}))

    def _minimise(self, automaton: WordAutomaton) -> WordAutomaton:
        """Reduce an automaton: merge states with the same future, and drop steps that others imply."""
        found = automaton
        while True:
            smaller = _merge_states(self._drop_implied_letters(_trim_states(found)))
            if (smaller.size, len(smaller.steps)) == (found.size, len(found.steps)):
                return smaller
            found = smaller

    def _drop_implied_letters(self, automaton: WordAutomaton) -> WordAutomaton:
        """Drop each step on a role for which a step on a role above it joins the same states."""
        between: dict[tuple[int, int], set[Role]] = defaultdict(set)
        for p, r, q in automaton.steps:
            between[p, q].add(self.representative(r))
        kept = frozenset(
            (p, r, q)
            for (p, q), letters in between.items()
            for r in letters
            if not (self.roles.superroles(r) - {r}) & letters
        )
        return replace(automaton, steps=kept)


def irregular_chains(
    axioms: Sequence[owl.Axiom], simple: Mapping[Role, str]
) -> dict[owl.Axiom, str]:
    """Select property chains to drop so that the others satisfy the global restrictions of OWL 2
    DL: chain → reason.

    Returns: each dropped chain with its violation. The rest is regular, with automata of bounded
        size, and no role in ``simple`` is implied by a chain. Chains that violate a restriction
        together are all dropped.

    Stops because each round drops a chain.
    """
    found: dict[owl.Axiom, str] = {}
    while chains := [
        a for a in axioms if isinstance(a, owl.SubObjectPropertyChain) and a not in found
    ]:
        paths = RolePaths(axiom for axiom in axioms if axiom not in found)
        obstacle = _find_violation(paths, chains, simple)
        if obstacle is None:
            break
        among = {paths.representative(role) for r in obstacle.roles for role in (r, r.inverse)}
        bad = [chain for chain in chains if paths.representative(role_of(chain.sup)) in among]
        found |= dict.fromkeys(bad or chains, str(obstacle))
    return found


def _find_violation(
    paths: RolePaths, chains: Iterable[owl.SubObjectPropertyChain], simple: Mapping[Role, str]
) -> IrregularRolesError | None:
    """Find a global restriction of OWL 2 DL that the chains violate; None if there is none.

    simple: roles that must be simple → reason.
    """
    for role, use in simple.items():
        below = paths.roles.subroles(role) & paths.roles.composite
        if below:
            return IrregularRolesError(
                f"{use} must be simple, but a property chain implies it (OWL 2 DL, section 11.2)",
                below,
            )
    try:
        for chain in chains:
            paths.automaton(role_of(chain.sup))
            for above in sorted(paths.roles.superroles(role_of(chain.sup))):
                paths.automaton(above)
    except IrregularRolesError as obstacle:
        return obstacle
    return None


def _remove_empty_steps(steps: _Steps, size: int, finals: set[int]) -> WordAutomaton:
    """Remove the ε-steps of an automaton."""
    forward: dict[int, set[int]] = defaultdict(set)
    told: dict[int, list[tuple[Role, int]]] = defaultdict(list)
    for p, role, q in steps:
        if role is None:
            forward[p].add(q)
        else:
            told[p].append((role, q))
    found: set[tuple[int, Role, int]] = set()
    ends: set[int] = set()
    for state in range(size):
        reached = _states_reachable_from({state}, forward)
        found.update((state, role, q) for p in reached for role, q in told[p])
        if reached & finals:
            ends.add(state)
    return WordAutomaton(size, frozenset(found), frozenset(ends))


def _trim_states(automaton: WordAutomaton) -> WordAutomaton:
    """Remove the states that lie on no path to a final state."""
    after, before = defaultdict(set), defaultdict(set)
    for p, _, q in automaton.steps:
        after[p].add(q)
        before[q].add(p)
    used = _states_reachable_from({0}, after) & _states_reachable_from(
        set(automaton.finals), before
    ) | {0}
    return _renumber_states(automaton, {state: i for i, state in enumerate(sorted(used))})


def _states_reachable_from(start: set[int], next_: Mapping[int, set[int]]) -> set[int]:
    """Return the states that can be reached from ``start``."""
    found, todo = set(start), list(start)
    while todo:
        for q in next_.get(todo.pop(), ()):
            if q not in found:
                found.add(q)
                todo.append(q)
    return found


def _merge_states(automaton: WordAutomaton) -> WordAutomaton:
    """Merge states of an automaton with the same language, as far as partition refinement finds
    them.
    """
    steps: dict[int, list[tuple[Role, int]]] = defaultdict(list)
    for p, role, q in automaton.steps:
        steps[p].append((role, q))
    block = {state: int(state in automaton.finals) for state in range(automaton.size)}
    count = 0
    while len(set(block.values())) != count:
        count = len(set(block.values()))
        numbers: dict[object, int] = {}
        signature = {
            s: (block[s], frozenset((role, block[q]) for role, q in steps[s]))
            for s in range(automaton.size)
        }
        block = {s: numbers.setdefault(signature[s], len(numbers)) for s in range(automaton.size)}
    return _renumber_states(automaton, block)


def _renumber_states(automaton: WordAutomaton, number: Mapping[int, int]) -> WordAutomaton:
    """Renumber the states of an automaton; steps of states without a new number are dropped."""
    steps = frozenset(
        (number[p], role, number[q])
        for p, role, q in automaton.steps
        if p in number and q in number
    )
    return WordAutomaton(
        len(set(number.values())),
        steps,
        frozenset(number[f] for f in automaton.finals if f in number),
    )
