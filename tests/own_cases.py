"""Cases by hand for the hypertableau: the counterexamples of THEORY, "Irrelevant role
assertions", and traps that random tests seldom meet.

A node is the atoms asserted there; ``Not(atom)`` is a negated one. Role names are single letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shiq.model.clause import AtLeast, Atom, ClausalTBox, Clause
from shiq.model.roles import Role, RoleBox
from shiq.reasoner.protocol import Module

P, Q, R, S, T, U = (Role(letter) for letter in "PQRSTU")
F = Role("F")
NONE = RoleBox()


@dataclass(frozen=True)
class Not:
    atom: Atom


def isa(*names: str, then: Sequence[Atom] = ()) -> Clause:
    """names ⊑ the disjunction of ``then``; nothing: ⊥."""
    return Clause(body=names, head=tuple(then))


def disjoint(*names: str) -> list[Clause]:
    return [isa(a, b) for i, a in enumerate(names) for b in names[:i]]


def some(role: Role, filler: str | None = None, n: int = 1) -> AtLeast:
    return AtLeast(n, role, filler)


def only(body: str | None, role: Role, head: str | None, branch_body: Sequence[str] = ()) -> Clause:
    """body ⊑ ∀role.(¬branch_body ⊔ head)."""
    return Clause((body,) if body else (), (), role, tuple(branch_body), (head,) if head else ())


def at_most(n: int, role: Role, filler: str | None = None, body: str | None = None) -> Clause:
    return Clause((body,) if body else (), (), role, (filler,) if filler else (), (), n)


@dataclass(frozen=True)
class Case:
    consistent: bool
    clauses: Sequence[Clause]
    nodes: Sequence[Sequence[Atom | Not]]
    edges: Sequence[tuple[int, Role, int]] = ()
    roles: RoleBox = NONE
    different: Sequence[tuple[int, int]] = ()
    negative_edges: Sequence[tuple[int, Role, int]] = ()
    tbox: ClausalTBox = field(init=False)
    module: Module = field(init=False)

    def __post_init__(self) -> None:
        atoms: dict[Atom, None] = {}
        for clause in self.clauses:
            atoms.update(
                dict.fromkeys(
                    (*clause.body, *clause.head, *clause.branch_body, *clause.branch_head)
                )
            )
        for node in self.nodes:
            atoms.update(dict.fromkeys(a.atom if isinstance(a, Not) else a for a in node))
        ids = {a: i for i, a in enumerate(atoms)}
        positive = tuple(
            sum(1 << ids[a] for a in set(node) if not isinstance(a, Not)) for node in self.nodes
        )
        negative = tuple(
            sum(1 << ids[a.atom] for a in set(node) if isinstance(a, Not)) for node in self.nodes
        )
        object.__setattr__(
            self, "tbox", ClausalTBox(tuple(self.clauses), self.roles, atoms=tuple(atoms))
        )
        module = Module(
            positive, negative, tuple(self.edges), tuple(self.negative_edges), tuple(self.different)
        )
        object.__setattr__(self, "module", module)


def sub(*pairs: tuple[Role, Role]) -> RoleBox:
    return RoleBox(inclusions=frozenset(pairs))


#: F functional, inherited from R: the witness of a ∃F at the far end of an R is the node before.
BACK = sub((R.inverse, F))

CASES: dict[str, Case] = {
    # --- single nodes
    "nothing": Case(True, [], []),
    "a name and its negation": Case(False, [], [["A", Not("A")]]),
    "a name below another": Case(False, [isa("A", then=["B"])], [["A", Not("B")]]),
    "a disjunction refuted on both sides": Case(
        False, [isa("A", then=["B", "C"])], [["A", Not("B"), Not("C")]]
    ),
    "a disjunction with one way out": Case(True, [isa("A", then=["B", "C"]), isa("B")], [["A"]]),
    "a clause without a body": Case(False, [isa(then=["A", "B"]), isa("A"), isa("B")], [[]]),
    "a clause without a body, at successors": Case(
        False, [isa(then=["B", "C"]), isa("C"), isa("B", "D")], [[some(R, "D")]]
    ),
    "the last of three choices": Case(
        True,
        [isa("A", then=["B", "C", "D"]), isa("B", then=["E"]), isa("E"), isa("C", "A")],
        [["A"]],
    ),
    # --- THEORY, "Irrelevant role assertions", each inconsistent
    "old edges become relevant": Case(
        False,
        [at_most(2, S), *disjoint("B1", "B2", "B3")],
        [[], ["B1"], ["B2"], ["B3"]],
        [(0, S, 1), (0, S, 2), (0, S, 3)],
    ),
    "a successor uses up the bound": Case(
        False,
        [at_most(2, S), isa("A", then=[some(S, "C")]), isa("B", "C"), at_most(1, R)],
        [["A"], ["B"], ["B"], ["D"], [Not("D")]],
        [(0, S, 1), (0, S, 2), (1, R, 3), (2, R, 4)],
    ),
    "one class, two individuals": Case(
        False,
        [at_most(2, S), at_most(2, T), at_most(1, R), at_most(1, U)],
        # d e1 e2 e3=f z p q g h
        [[], [], [], [], [], [], [], ["D"], [Not("D")]],
        [
            (0, T, 1),
            (0, T, 2),
            (0, T, 3),
            (4, U, 5),
            (4, U, 6),
            (5, S, 1),
            (5, S, 2),
            (6, S, 3),
            (3, R, 7),
            (1, R, 8),
            (2, R, 8),
        ],
        different=[(1, 2)],
    ),
    "a witness twice": Case(
        False,
        [at_most(1, r) for r in (P, S, F, Q)]
        + [isa("B0", then=[some(R, "D")]), *disjoint("B1", "B2")],
        # e e' a a' z d d'
        [
            ["B0"],
            ["B0"],
            [Not("B0")],
            [Not("B0")],
            [Not("B0")],
            ["B1", Not("B0"), Not("D")],
            ["B2", Not("B0"), Not("D")],
        ],
        [(0, T, 2), (1, T, 3), (4, F, 2), (4, F, 3), (0, Q, 5), (1, Q, 6)],
        sub((R, P), (T, P), (R, S.inverse)),
    ),
    "one clause, both ends": Case(
        False,
        [at_most(1, S.inverse), at_most(1, Q), *disjoint("B1", "B2")],
        [[], [], [], ["B2"], ["B1"]],
        [(1, R, 0), (2, S, 0), (1, Q, 3), (2, Q, 4)],
        sub((R, S), (R, S.inverse)),
    ),
    "an asserted need": Case(False, [at_most(1, S)], [[some(S, "D")], [Not("D")]], [(0, S, 1)]),
    "two merged centres": Case(
        False,
        [at_most(1, R0 := Role("R0"))],
        [[], [], [], [], []],
        [(3, R0, 2), (4, R0.inverse, 3), (4, R0, 0), (2, R0, 1)],
        different=[(1, 0)],
        negative_edges=[(0, R0, 0), (1, R0, 1)],
    ),
    # --- equality
    "functional, two names that exclude each other": Case(
        False, [at_most(1, S), isa("B", "C")], [[], ["B"], ["C"]], [(0, S, 1), (0, S, 2)]
    ),
    "functional through the hierarchy and an inverse": Case(
        False,
        [at_most(1, S), isa("B", "C")],
        [[], ["B"], ["C"]],
        [(0, R, 1), (2, T, 0)],
        sub((R, S), (T.inverse, S)),
    ),
    "functional, unequal": Case(
        False, [at_most(1, S)], [[], [], []], [(0, S, 1), (0, S, 2)], different=[(2, 1)]
    ),
    "functional on one side only": Case(
        True, [at_most(1, S)], [[], [], []], [(1, S, 0), (2, S, 0)], different=[(1, 2)]
    ),
    "a merge wakes a rule at the target": Case(
        False,
        [at_most(1, S), only("B", R, None)],
        [[], ["B"], [], []],
        [(0, S, 1), (0, S, 2), (2, R, 3)],
    ),
    "a merge wakes a rule at a neighbour": Case(
        False,
        [at_most(1, S), only("B", R, None, ["C", "D"])],
        [[], ["C"], ["D"], ["B"]],
        [(0, S, 1), (0, S, 2), (3, R, 1), (3, R, 2)],
    ),
    "a merge wakes a ≤ at a neighbour": Case(
        False,
        [at_most(1, S), at_most(1, R, "C"), isa("X", "Y")],
        [[], ["C"], [], [], ["X", "C"], ["Y"]],
        [(0, S, 1), (0, S, 2), (3, R, 2), (3, R, 4), (5, S, 4), (1, S, 3), (1, S, 5)],
        different=[(1, 4)],
    ),
    "a chain of merges": Case(
        False,
        [at_most(1, S), isa("B", "C")],
        [[], [], [], [], [], ["B"], ["C"]],
        [(0, S, 1), (0, S, 2), (1, S, 3), (2, S, 4), (3, S, 5), (4, S, 6)],
    ),
    "three neighbours, two places, one fits": Case(
        True,
        [at_most(2, S), isa("B", "C")],
        [[], ["B"], ["C"], []],
        [(0, S, 1), (0, S, 2), (0, S, 3)],
    ),
    "three neighbours, two places, none fits": Case(
        False,
        [at_most(2, S), isa("B", "C")],
        [[], ["B"], ["C"], []],
        [(0, S, 1), (0, S, 2), (0, S, 3)],
        different=[(1, 3), (3, 2)],
    ),
    "four into two takes two merges": Case(
        False,
        [at_most(2, S), *disjoint("B", "C", "D")],
        [[], ["B"], ["C"], ["D"], []],
        [(0, S, i) for i in (1, 2, 3, 4)],
    ),
    "five into three": Case(
        True,
        [at_most(3, S), *disjoint("B", "C", "D")],
        [[], ["B"], ["C"], ["D"], [], []],
        [(0, S, i) for i in (1, 2, 3, 4, 5)],
        different=[(4, 5)],
    ),
    "≤n or another disjunct": Case(
        True,
        [Clause(("A",), ("B",), S, (), (), 1)],
        [["A"], [], []],
        [(0, S, 1), (0, S, 2)],
        different=[(1, 2)],
    ),
    "≤n or another disjunct that is refuted": Case(
        False,
        [Clause(("A",), ("B",), S, (), (), 1)],
        [["A", Not("B")], ["C"], [Not("C")]],
        [(0, S, 1), (0, S, 2)],
    ),
    "an equality refuted after a choice": Case(
        False,
        [
            at_most(2, S),
            isa("A", then=["X", "Y"]),
            only("X", S, "Z"),
            only("Y", S, "Z"),
            at_most(1, S, "Z"),
        ],
        [["A"], ["C"], [Not("C")]],
        [(0, S, 1), (0, S, 2)],
    ),
    # --- numbers
    "≥3 and ≤2": Case(False, [at_most(2, S)], [[some(S, n=3)]]),
    "≥3 and ≤2 through the hierarchy": Case(
        False, [at_most(2, S)], [[some(R, n=3)]], roles=sub((R, S))
    ),
    "≥3 and ≤2 of a part": Case(True, [at_most(2, S, "B")], [[some(S, n=3)]]),
    "two kinds of two are four": Case(
        False, [at_most(3, S), *disjoint("A", "B")], [[some(S, "A", 2), some(S, "B", 2)]]
    ),
    "two kinds of two fit into four": Case(
        True, [at_most(4, S), *disjoint("A", "B")], [[some(S, "A", 2), some(S, "B", 2)]]
    ),
    "two kinds of two fit into two": Case(
        True, [at_most(2, S)], [[some(S, "A", 2), some(S, "B", 2)]]
    ),
    "neighbours that are merged later count once": Case(
        False,
        [at_most(1, R), at_most(2, S), isa("B", "C")],
        [[some(S, n=2)], ["B"], ["B"], [], ["C"]],
        [(0, S, 1), (0, S, 2), (3, R, 1), (3, R, 2), (0, S, 4), (0, Q, 4)],
        different=[(1, 4)],
        negative_edges=[(0, S, 4)],
    ),
    "a merge leaves a need unmet": Case(
        False,
        [at_most(1, R), at_most(1, S)],
        [[some(S, n=2)], [], [], []],
        [(0, S, 1), (0, S, 2), (3, R, 1), (3, R, 2)],
    ),
    "a merge leaves a need unmet that was met": Case(
        False,
        [
            isa("A", then=[some(T, "X")]),
            only("X", T.inverse, "K"),
            at_most(1, R, body="K"),
            isa("P1", "P2", then=["M"]),
            only("M", S.inverse, "L"),
            at_most(1, S, body="L"),
        ],
        [[some(S, n=2)], ["P1"], ["P2"], ["A"]],
        [(0, S, 1), (0, S, 2), (3, R, 1), (3, R, 2)],
    ),
    "a loop is a neighbour": Case(True, [at_most(1, S)], [[some(S, "A"), "A"]], [(0, S, 0)]),
    "a loop is the only neighbour": Case(
        False, [at_most(1, S)], [[some(S, "A"), Not("A")]], [(0, S, 0)]
    ),
    "a successor merges into its own parent": Case(
        False, [at_most(1, S), isa("A", "B")], [["A", some(S, "B")]], [(0, S, 0)]
    ),
    # --- negated ≥-atoms
    "no successor, one asserted": Case(False, [], [[Not(some(R, "A"))], ["A"]], [(0, R, 1)]),
    "no successor of a kind": Case(True, [], [[Not(some(R, "A"))], ["B"]], [(0, R, 1)]),
    "no successor of a kind, made one": Case(
        False, [only(None, R, "A")], [[Not(some(R, "A"))], ["B"]], [(0, R, 1)]
    ),
    "less than two, through an inverse": Case(
        False,
        [],
        [[Not(some(S, n=2))], [], []],
        [(1, R, 0), (0, S, 2)],
        sub((R, S.inverse)),
        [(1, 2)],
    ),
    "less than two, merged": Case(
        False, [isa("A", "B")], [[Not(some(S, n=2))], ["A"], ["B"]], [(0, S, 1), (0, S, 2)]
    ),
    "less than two, but one needed": Case(
        True, [], [[Not(some(S, n=2)), some(S, "A"), some(S, "B")]]
    ),
    "less than two, but two needed": Case(
        False, [isa("A", "B")], [[Not(some(S, n=2)), some(S, "A"), some(S, "B")]]
    ),
    "less than three, but four needed": Case(False, [], [[Not(some(S, n=3)), some(S, n=4)]]),
    "a negated ≥ takes a disjunct away": Case(
        False, [isa("A", then=[some(R), "B"])], [["A", Not(some(R)), Not("B")]]
    ),
    "a negated ≥ survives a merge": Case(
        False, [at_most(1, S)], [[], ["A"], [Not(some(R))], []], [(0, S, 1), (0, S, 2), (1, R, 3)]
    ),
    # --- roles
    "disjoint roles": Case(
        False, [], [[], []], [(0, R, 1), (0, S, 1)], RoleBox(disjoint=frozenset({(R, S)}))
    ),
    "disjoint roles, one seen from the other end": Case(
        False, [], [[], []], [(0, R, 1), (1, S, 0)], RoleBox(disjoint=frozenset({(S.inverse, R)}))
    ),
    "disjoint roles on different pairs": Case(
        True, [], [[], []], [(0, R, 1), (1, S, 0)], RoleBox(disjoint=frozenset({(R, S)}))
    ),
    "disjoint roles through the hierarchy": Case(
        False,
        [],
        [[], []],
        [(0, P, 1), (0, Q, 1)],
        RoleBox(frozenset({(P, R), (Q, S)}), disjoint=frozenset({(R, S)})),
    ),
    "disjoint roles after a merge": Case(
        False,
        [at_most(1, T)],
        [[], [], [], []],
        [(0, T, 1), (0, T, 2), (3, R, 1), (2, S.inverse, 3)],
        RoleBox(disjoint=frozenset({(R, S)})),
    ),
    "a role disjoint from itself": Case(
        False, [], [[some(R)]], roles=RoleBox(disjoint=frozenset({(R, R)}))
    ),
    "disjoint roles at a successor": Case(
        False,
        [],
        [[some(R)]],
        roles=RoleBox(frozenset({(R, P), (R, Q)}), disjoint=frozenset({(P, Q)})),
    ),
    "asymmetric": Case(
        False, [], [[], []], [(0, R, 1), (1, R, 0)], RoleBox(asymmetric=frozenset({R}))
    ),
    "asymmetric through the hierarchy": Case(
        False,
        [],
        [[], []],
        [(0, P, 1), (0, Q.inverse, 1)],
        RoleBox(frozenset({(P, R), (Q, R)}), asymmetric=frozenset({R.inverse})),
    ),
    "asymmetric loop": Case(False, [], [[]], [(0, R, 0)], RoleBox(asymmetric=frozenset({R}))),
    "asymmetric loop after a merge": Case(
        False,
        [at_most(1, S)],
        [[], [], []],
        [(0, S, 1), (0, S, 2), (1, R, 2)],
        RoleBox(asymmetric=frozenset({R})),
    ),
    "irreflexive": Case(False, [], [[]], [(0, R.inverse, 0)], RoleBox(irreflexive=frozenset({R}))),
    "irreflexive through the hierarchy, after a merge": Case(
        False,
        [at_most(1, S)],
        [[], [], []],
        [(0, S, 1), (0, S, 2), (2, P, 1)],
        RoleBox(frozenset({(P, R.inverse)}), irreflexive=frozenset({R})),
    ),
    "irreflexive, two nodes": Case(
        True, [], [[], []], [(0, R, 1), (1, R, 0)], RoleBox(irreflexive=frozenset({R}))
    ),
    "a negative edge": Case(
        False, [], [[], []], [(0, R, 1)], sub((R, S)), negative_edges=[(1, S.inverse, 0)]
    ),
    "a negative edge of a smaller role": Case(
        True, [], [[], []], [(0, S, 1)], sub((R, S)), negative_edges=[(0, R, 1)]
    ),
    "a negative edge of a role that nothing mentions": Case(
        False, [], [[], []], [(0, U, 1)], negative_edges=[(0, U, 1)]
    ),
    "a negative edge after a merge": Case(
        False,
        [at_most(1, S)],
        [[], [], [], []],
        [(0, S, 1), (0, S, 2), (3, R, 1)],
        negative_edges=[(3, R, 2)],
    ),
    "a negative loop after a merge": Case(
        False,
        [at_most(1, S)],
        [[], [], []],
        [(0, S, 1), (0, S, 2), (1, R, 2)],
        negative_edges=[(2, R, 2)],
    ),
    "a negative edge keeps a successor apart": Case(
        False,
        [at_most(1, S)],
        [[some(R)], []],
        [(0, S, 1)],
        sub((R, S)),
        negative_edges=[(0, R, 1)],
    ),
    "symmetric": Case(
        False, [only("A", R, "B"), isa("B")], [[], ["A"]], [(0, R, 1)], sub((R, R.inverse))
    ),
    # --- loops
    "a loop is its own branch": Case(False, [only("A", R, None, ["A"])], [["A"]], [(0, R, 0)]),
    "a loop read backwards": Case(
        False, [only("A", R.inverse, "B"), isa("B")], [["A"]], [(0, R, 0)]
    ),
    "a loop counts once": Case(True, [at_most(1, R), at_most(1, R.inverse)], [["A"]], [(0, R, 0)]),
    "a loop from a merge": Case(
        False,
        [at_most(1, S), only("A", R, "B"), isa("A", "B")],
        [[], ["A"], []],
        [(0, S, 1), (0, S, 2), (1, R, 2)],
    ),
    # --- successors and blocking
    "a value back from a successor": Case(
        False, [only("B", R.inverse, "C")], [[some(R, "B"), Not("C")]]
    ),
    "a value back from two steps": Case(
        False,
        [
            isa("A", then=[some(R, "B")]),
            isa("B", then=[some(R, "C")]),
            only("C", R.inverse, "D"),
            only("D", R.inverse, "E"),
        ],
        [["A", Not("E")]],
    ),
    "an endless chain": Case(True, [isa("A", then=[some(R, "A")])], [["A"]]),
    "only infinite models": Case(
        True,
        [
            isa("A", then=[some(R, "B")]),
            isa("B", then=[some(R, "B")]),
            at_most(1, R.inverse),
            isa("A", "B"),
            only(None, R, "B"),
        ],
        [["A"]],
    ),
    "only infinite models, and a fault at the end": Case(
        False,
        [
            isa("A", then=[some(R, "B")]),
            isa("B", then=[some(R, "B")]),
            at_most(1, R.inverse),
            isa("A", "B"),
            only("B", R.inverse, "B"),
        ],
        [["A"]],
    ),
    # D = C ⊓ ≤1 F ⊓ ∃F.N: the fault is two inverse steps away, and a node is labelled as its parent
    # is
    "equal names at both ends of an edge": Case(
        False,
        [
            isa("N", "C"),
            isa("D", then=["C"]),
            isa("D", then=[some(F, "N")]),
            at_most(1, F, body="D"),
            isa("G", then=[some(F.inverse, "D")]),
            only("G", F.inverse, "G"),
        ],
        [["N", "G"]],
    ),
    "names alone do not block": Case(
        False,
        [
            isa("A", then=[some(R, "B")]),
            isa("B", then=[some(R, "B")]),
            isa("B", then=[some(F, "X")]),
            at_most(1, F),
            isa("X", "B"),
        ],
        [["A", "X"]],
        roles=BACK,
    ),
    # y by R and z by S from the same node have the same names; only at z does ∃F lead back
    "roles are part of what blocks": Case(
        False,
        [
            isa("A", then=[some(R, "A")]),
            isa("A", then=[some(S, "A")]),
            isa("A", then=[some(F, "B")]),
            at_most(1, F),
            isa("A", "B"),
        ],
        [["A"]],
        roles=sub((S.inverse, F)),
    ),
    "roles are part of what blocks, the other first": Case(
        False,
        [
            isa("A", then=[some(S, "A")]),
            isa("A", then=[some(R, "A")]),
            isa("A", then=[some(F, "B")]),
            at_most(1, F),
            isa("A", "B"),
        ],
        [["A"]],
        roles=sub((S.inverse, F)),
    ),
    "roles that differ do no harm": Case(
        True,
        [
            isa("A", then=[some(R, "A")]),
            isa("A", then=[some(S, "A")]),
            isa("A", then=[some(F, "A")]),
            at_most(1, F),
        ],
        [["A"]],
        roles=sub((S.inverse, F)),
    ),
    "the parent's names are part of what blocks": Case(
        False,
        [
            isa("A", then=[some(R, "B")]),
            isa("B", then=[some(R, "C")]),
            isa("C", then=[some(R, "B")]),
            isa("B", then=[some(F, "D")]),
            at_most(1, F),
            isa("C", "D"),
        ],
        [["A"]],
        roles=BACK,
    ),
    "a functional inverse shares the predecessor": Case(
        True,
        [
            isa("A", then=[some(R, "A"), "Z"]),
            isa("A", then=[some(R.inverse, "A")]),
            at_most(1, R),
            at_most(1, R.inverse),
        ],
        [["A"]],
    ),
    "many successors that exclude each other": Case(
        True,
        [
            isa("A", then=[some(R, "A", 3)]),
            at_most(3, R),
            isa("A", then=[some(R.inverse, "A", 2)]),
            at_most(2, R.inverse),
        ],
        [["A"]],
    ),
    "a need met by the predecessor": Case(
        True,
        [
            isa("A", then=[some(R, "B")]),
            isa("B", then=[some(R.inverse, "A")]),
            at_most(1, R),
            at_most(1, R.inverse),
        ],
        [["A"]],
    ),
    # --- jumping back
    "a clash below two idle choices": Case(
        False,
        [
            isa("A", then=["B", "C"]),
            isa("X", then=["Y", "Z"]),
            isa("U", then=["V", "W"]),
            *[isa(a, then=[some(R, "E")]) for a in ("B", "C")],
            isa("E"),
        ],
        [["A"], ["X"], ["U"]],
    ),
    "a choice that rests on another": Case(
        False,
        [
            isa("A", then=["B", "C"]),
            isa("B", then=["D", "E"]),
            isa("D", "A"),
            isa("E", "A"),
            isa("C", then=["F", "G"]),
            isa("F"),
            isa("G", "C"),
        ],
        [["A"]],
    ),
    "a merge that rests on a choice is taken back": Case(
        True,
        [
            isa("A", then=["B", "C"]),
            at_most(1, S, body="B"),
            isa("X", "Y"),
            isa("C", then=[some(S, "X")]),
        ],
        [["A"], ["X", some(R, "Z")], ["Y"]],
        [(0, S, 1), (0, S, 2)],
    ),
    "a choice open at a node that is merged away comes back with it": Case(
        False,
        [
            isa("A", then=["B", "C"]),
            at_most(1, S, body="B"),
            isa("X", then=["D", "E", "F"]),
            isa("D"),
            isa("E"),
            isa("F"),
        ],
        [["A"], [], ["X"]],
        [(0, S, 1), (0, S, 2)],
    ),
    "equalities refuted under a choice are open without it": Case(
        True,
        [at_most(2, S), isa("P", then=["X", "Y"]), isa("D", "E")],
        [[], ["P", "K", "L", "M", "N"], ["D", "K", "L", Not("X")], ["E", "M", "N", Not("X")]],
        [(0, S, 1), (0, S, 2), (0, S, 3)],
    ),
    "a denial under a choice is one under it where a merge moved it": Case(
        True,
        [
            isa("P", then=["X", "Y"]),
            isa("D", then=["B", "C", "E"]),
            only("X", T, None, ["B"]),
            isa("N", then=[some(R, "K")]),
            only("K", R.inverse, "M"),
            at_most(1, S, body="M"),
        ],
        [["P"], ["B"], ["D"], ["N"]],
        [(0, T, 2), (3, S, 1), (3, S, 2)],
    ),
    "a match whose edge a merge moved comes back with the edge": Case(
        False,
        [
            isa("P", then=["X", "Y"]),
            at_most(1, S, body="X"),
            Clause(("A",), (), R, (), ("B", "C", "E")),
            *map(isa, "BCE"),
        ],
        [["P"], [], [], ["A"]],
        [(0, S, 1), (0, S, 2), (3, R, 2)],
    ),
    "disjuncts refuted under a choice are open without it": Case(
        True,
        [
            isa("X", then=["Y", "Z"]),
            isa("A", then=["B", "C", "D"]),
            isa("Y", "B"),
            isa("Y", "C"),
            isa("D"),
        ],
        [["A", "X"]],
    ),
    "disjuncts refuted under a choice at a neighbour are open without it": Case(
        True,
        [
            isa("X", then=["Y", "Z"]),
            isa("A", then=["B", "C", "D"]),
            *[only("Y", R, None, [name]) for name in ("B", "C")],
            isa("D"),
        ],
        [["X"], ["A"]],
        [(0, R, 1)],
    ),
    "an edge moved under a choice counts only under it": Case(
        True,
        [isa("A", then=["B", "C"]), at_most(1, T, body="B"), at_most(1, S)],
        [[], ["P"], [Not("P")], [], ["A"]],
        [(4, T, 0), (4, T, 3), (0, S, 1), (3, S, 2)],
    ),
    "facts that a merge brings rest on it": Case(
        True,
        [isa("A", then=["B", "C"]), at_most(1, S, body="B"), only("X", R, "K"), isa("K", "L")],
        [["A"], ["X"], [], ["L"]],
        [(0, S, 1), (0, S, 2), (2, R, 3)],
    ),
}
