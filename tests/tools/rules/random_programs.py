"""Random programs with random input, every construct often, safe and stratified by how they are
made.

Predicates have levels: what is used positively is of the same level or a lower one, all else
strictly lower. Values that arithmetic makes in recursion are bounded. A part has a key: the
variable X, first in all atoms but those of facts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

INPUTS = {"i": 1, "j": 2, "k": 0, "l": 1}
CONSTANTS = ("0", "1", "2", "3", "-1", "a", "b", '"s"')
_WORDS = """
#temp #trigger_frequency in at-least at-least-variable at-most always count count-variable not not-in not-at-least not-always
not-count set-window unit past-window comparison equation not-comparison + - * / negative-term #count #sum #min #max two-elements
two-guards left-guard not-aggregate global-variable external external-tuple external-test not-external @now _ fact recursion
window-recursion string #show complete-windows on-input at-most-binds zero-arity repeated-variable head-arithmetic key
\\ projected interval #const @now-part local-strata comment external-arithmetic
"""
#: What `Case.used` may hold, each in a tenth of all programs at least.
CONSTRUCTS = tuple(_WORDS.split())
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "next": lambda x: x + 1 if isinstance(x, int) else x + "n",
    "both": lambda x, y: (y, x),
    "even": lambda x: isinstance(x, int) and x % 2 == 0,
}


@dataclass
class Case:
    """A program, its input by time, and the options that it is run with."""

    seed: int
    rules: list[str]
    events: list[tuple[int, list[str]]]
    options: dict[str, Any]
    at_most_binds: bool
    used: set[str] = field(default_factory=set)

    @property
    def text(self) -> str:
        return "\n".join(self.rules) + "\n"


def random_case(seed: int) -> Case:
    """The case of a seed."""
    return _Generator(seed).case()


class _Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        #: For constructs that came later, so that programs without them stay as they are.
        self.later_dice = random.Random(f"{seed} later")
        self.seed = seed
        self.used: set[str] = set()
        self.keyed = self._chance(0.15)
        self.used |= {"key"} if self.keyed else set()
        self.inputs = {name: arity for name, arity in INPUTS.items() if arity or not self.keyed}
        arities = (1, 1, 2) if self.keyed else (0, 1, 1, 1, 2)
        names = "pqrst"[: self._number(2, 5)]
        self.derived = {
            name: (self.random.choice(arities), level) for level, name in enumerate(names)
        }
        #: Two predicates on one level make cycles of two.
        if len(self.derived) > 2 and self._chance(0.4):
            self.derived["q"] = self.derived["q"][0], self.derived["p"][1]
        self.binds = self._chance(0.2)

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def case(self) -> Case:
        rules = []
        for name, (arity, level) in self.derived.items():
            rules += [self.rule(name, arity, level) for _ in range(self._number(1, 3))]
        for _ in range(self._number(0, 3)):
            self.used.add("fact")
            rules.append(f"f({self.constant()}).")
        if self._chance(0.25):
            self.used.add("fact")
            rules.append(
                f"{self.atom('p', [self.constant() for _ in range(self.derived['p'][0])])}."
            )
        if self._chance(0.15):
            self.used.add("local-strata")
            rules += [
                "z(X,C) :- i(X) count C in [2].",
                "h(X) :- z(X,C), C>0.",
                "z(X,0) :- j(X,Y), not h(X).",
            ]
            self.inputs["z"] = 2
        if "#const" in self.used:
            rules.append("#const n = 2.")
        if self._chance(0.15):
            self.used.add("comment")
            rules.append("%* p(1) :-\n i(1). *%")
        if self._chance(0.15):
            self.used.add("#show")
            rules += [
                f"#show {name}/{arity}."
                for name, (arity, _) in self.derived.items()
                if self._chance(0.6)
            ] or ["#show i/1"]
        options: dict[str, Any] = {"timeline": "on-input" if self._chance(0.3) else "dense"}
        options["complete_windows"] = self._chance(0.25)
        self.used |= {"on-input"} if options["timeline"] == "on-input" else set()
        self.used |= {"complete-windows"} if options["complete_windows"] else set()
        self.used |= {"at-most-binds"} if self.binds else set()
        if '"' in "".join(rules):
            self.used.add("string")
        return Case(self.seed, rules, self.events(), options, self.binds, self.used)

    def events(self) -> list[tuple[int, list[str]]]:
        found: list[tuple[int, list[str]]] = []
        t = self._number(0, 5)
        for _ in range(self._number(3, 9)):
            atoms: list[str] = []
            for _ in range(self._number(1, 7)):
                name = self.random.choice("iiijjjklpz" if "z" in self.inputs else "iiijjjklp")
                arity = self.inputs.get(name, INPUTS.get(name, self.derived.get(name, (0, 0))[0]))
                atoms.append(self.atom(name, [self.constant() for _ in range(arity)]))
            found.append((t, atoms))
            t += self.random.choice((1, 1, 1, 2, 3))
        return found

    def constant(self) -> str:
        return self.random.choice(CONSTANTS)

    def atom(self, name: str, arguments: Sequence[str]) -> str:
        if not arguments:
            self.used.add("zero-arity")
        return f"{name}({','.join(arguments)})" if arguments else name

    def window(self) -> str:
        if self._chance(0.4):
            self.used.add("set-window")
            offsets = self.random.sample(range(5), self._number(1, 3))
            if 0 not in offsets:
                self.used.add("past-window")
            return "{" + ",".join(map(str, offsets)) + "}"
        if self._chance(0.3):
            self.used.add("unit")
            return self.random.choice(("[2 sec]", "[1 sec]", "[3000 msec]"))
        return f"[{self._number(1, 4)}]"

    # --- rules

    def rule(self, name: str, arity: int, level: int) -> str:
        self.bound: list[str] = []
        self.level, self.recursive = level, False
        self.fresh = 0
        # What is bound is known from left to right here; the order is shuffled afterwards.
        body = [self.positive(beginning=i == 0) for i in range(self._number(1, 3))]
        extras = (
            self.negative,
            self.comparison,
            self.aggregate,
            self.external,
            self.counted,
            self.at_most,
            self.now,
        )
        for _ in range(self.random.choice((0, 1, 1, 2, 2, 3))):
            body += self.random.choice(extras)()
        arguments = ["X" if self.keyed and not i else self.head_term() for i in range(arity)]
        self.random.shuffle(body)
        before = ""
        if self._chance(0.15):
            self.used.add("#temp")
            before += "#temp "
        if self._chance(0.1):
            self.used.add("#trigger_frequency")
            before += f"#trigger_frequency({self._number(1, 3)}) "
        if self.recursive:
            self.used.add("recursion")
        return f"{before}{self.atom(name, arguments)} :- {', '.join(body)}."

    def head_term(self) -> str:
        if not self.bound or self._chance(0.1):
            return self.constant()
        variable = self.random.choice(self.bound)
        if not self.recursive and self._chance(0.12):
            self.used.add("head-arithmetic")
            return self.expression(variable)
        return variable

    def term(self) -> str:
        """A term all of whose variables are bound."""
        if self.bound and self._chance(0.7):
            return self.random.choice(self.bound)
        if self._chance(0.15):
            self.used.add("#const")
            return "n"
        return self.constant()

    def expression(self, variable: str) -> str:
        operator = self.random.choice("+-*/\\")
        self.used.add(operator)
        if self._chance(0.15):
            self.used.add("negative-term")
            return f"-{variable}"
        return f"{variable}{operator}{self.random.choice(('1', '2', '3', self.term()))}"

    def variable(self) -> str:
        name = self.random.choice("XYZ")
        if name not in self.bound:
            self.bound.append(name)
        return name

    def new(self) -> str:
        self.fresh += 1
        return f"V{self.fresh}"

    def predicate(self, same_level: bool) -> tuple[str, int]:
        """A predicate that may be used; of the level itself only where ``same_level``."""
        below = [
            (name, arity) for name, (arity, level) in self.derived.items() if level < self.level
        ]
        beside = [
            (name, arity) for name, (arity, level) in self.derived.items() if level == self.level
        ]
        if same_level and self._chance(0.3):
            self.recursive = True
            return self.random.choice(beside)
        return self.random.choice([*self.inputs.items(), ("f", 1), *below, *below])

    def arguments(self, name: str, arity: int, binding: bool) -> list[str]:
        found: list[str] = []
        for i in range(arity):
            if self.keyed and not i and name != "f":
                found.append("X")
                self.bound += ["X"] if "X" not in self.bound else []
            elif binding and self._chance(0.08):
                self.used.add("_")
                found.append("_")
            elif binding and self._chance(0.75):
                found.append(self.variable())
            else:
                found.append(self.term())
        if len(set(found)) < len(found):
            self.used.add("repeated-variable")
        return found

    def positive(self, beginning: bool) -> str:
        before = self.recursive
        name, arity = self.predicate(True)
        if beginning and self.keyed and name == "f":
            name, arity = "i", 1
        atom = self.atom(name, self.arguments(name, arity, True))
        way = self._number(0, 9)
        if way < 3:
            return atom
        if self.recursive and not before:
            self.used.add("window-recursion")
        if way < 6:
            self.used.add("in")
            return f"{atom} in {self.window()}"
        if way < 8:
            self.used.add("always")
            return f"{atom} always in {self.window()}"
        self.used.add("at-least")
        return f"{atom} at least {self._number(1, 3)} in {self.window()}"

    # --- what is about lower levels

    def lower(self, binding: bool = False) -> str:
        name, arity = self.predicate(False)
        return self.atom(name, self.arguments(name, arity, binding))

    def negative(self) -> list[str]:
        atom = self.projected() if self._chance(0.2) else self.lower()
        way = self.random.choice(
            ("not", "not", "not-in", "not-at-least", "not-always", "not-count")
        )
        self.used.add(way)
        if way == "not":
            return [f"not {atom}"]
        operator = {
            "not-in": "",
            "not-at-least": f"at least {self.counting()} ",
            "not-always": "always ",
        }
        return [f"not {atom} {operator.get(way, f'count {self.counting()} ')}in {self.window()}"]

    def projected(self) -> str:
        """An atom with _, of an input predicate."""
        self.used.add("projected")
        name = self.random.choice("ijl" if not self.keyed else "j")
        found = self.arguments(name, INPUTS[name], False)
        found[-1] = "_"
        return self.atom(name, found)

    def counting(self) -> str:
        return (
            self.random.choice(self.bound)
            if self.bound and self._chance(0.3)
            else str(self._number(1, 3))
        )

    def counted(self) -> list[str]:
        way = self.random.choice(("count", "count-variable", "at-least-variable"))
        self.used.add(way)
        atom = self.lower(True)
        if way == "count":
            return [f"{atom} count {self._number(1, 3)} in {self.window()}"]
        if way == "at-least-variable":
            variable = self.new()
            found = [f"{atom} at least {variable} in {self.window()}", f"f({variable})"]
            self.bound.append(variable)
            return found
        variable = self.new() if self._chance(0.7) else self.variable()
        self.bound += [variable] if variable not in self.bound else []
        return [f"{atom} count {variable} in {self.window()}"]

    def at_most(self) -> list[str]:
        self.used.add("at-most")
        if self.binds and self._chance(0.6):
            return [
                f"{self.lower(True)} at most {self.random.choice(('1', '2', *self.bound))} in {self.window()}"
            ]
        atom = self.projected() if self._chance(0.2) and not self.binds else self.lower()
        return [
            f"{atom} at most {self.random.choice(('0', '1', '2', self.counting()))} in {self.window()}"
        ]

    def comparison(self) -> list[str]:
        if self._chance(0.4) and self.bound:
            self.used.add("equation")
            variable = self.new()
            expression = self.expression(self.random.choice(self.bound))
            self.bound.append(variable)
            sides = f"{variable}={expression}" if self._chance(0.5) else f"{expression}={variable}"
            return [sides, f"{variable}<7", f"{variable}>-7"]
        if self._chance(0.15):
            self.used.add("interval")
            variable = self.new()
            self.bound.append(variable)
            bound = self.random.choice("123n")
            self.used |= {"#const"} if bound == "n" else set()
            return [f"{variable}=0..{bound}"]
        self.used.add("comparison")
        negation = "not " if self._chance(0.3) else ""
        self.used |= {"not-comparison"} if negation else set()
        left = (
            self.term()
            if self._chance(0.8) or not self.bound
            else self.expression(self.random.choice(self.bound))
        )
        return [
            f"{negation}{left}{self.random.choice(('<', '<=', '>', '>=', '!=', '<>'))}{self.term()}"
        ]

    def now(self) -> list[str]:
        self.used.add("@now")
        if self._chance(0.3):
            self.used.add("@now-part")
            return [f"@now.second {self.random.choice(('>', '<=', '!='))} {self._number(2, 8)}"]
        if self._chance(0.5):
            return [f"@now {self.random.choice(('>', '<=', '!='))} {self._number(2, 8)}"]
        variable = self.new()
        self.bound.append(variable)
        return [f"{variable}=@now"]

    def element(self, outer: list[str]) -> str:
        name, arity = self.predicate(False)
        inner = [
            self.random.choice(("U", "W", *outer)) if self._chance(0.8) else self.constant()
            for _ in range(arity)
        ]
        if self.keyed and name != "f":
            inner[0] = "X"
        variables = [name for name in inner if name[0].isupper()]
        self.used |= {"global-variable"} if set(variables) & set(outer) else set()
        terms = variables if variables and self._chance(0.7) else [*variables[:1], self.constant()]
        conditions = [self.atom(name, inner)]
        own = [name for name in variables if name not in outer]
        if own and self._chance(0.2):
            conditions.append(f"{own[0]}{self.random.choice(('!=', '<', '>='))}{self.constant()}")
        if self._chance(0.15):
            other, width = self.predicate(False)
            inside = [self.random.choice((*variables, self.constant())) for _ in range(width)]
            if self.keyed and other != "f":
                inside[0] = "X"
            conditions.append(f"not {self.atom(other, inside)}")
        return f"{','.join(terms)}:{','.join(conditions)}"

    def aggregate(self) -> list[str]:
        function = self.random.choice(("#count", "#sum", "#min", "#max"))
        self.used.add(function)
        outer = list(self.bound)
        elements = [self.element(outer)]
        if self._chance(0.3):
            self.used.add("two-elements")
            elements.append(self.element(outer))
        whole = f"{function}{{{';'.join(elements)}}}"
        way = self._number(0, 5)
        if way < 2:
            variable = self.new()
            self.bound.append(variable)
            return [f"{whole}={variable}" if self._chance(0.5) else f"{variable}={whole}"]
        if way == 2:
            self.used.add("left-guard")
            return [f"{self.term()}{self.random.choice(('<', '>=', '!='))}{whole}"]
        if way == 3:
            self.used.add("two-guards")
            return [f"{self._number(-1, 1)}<{whole}<={self._number(1, 4)}"]
        negation = "not " if way == 4 else ""
        self.used |= {"not-aggregate"} if negation else set()
        return [f"{negation}{whole}{self.random.choice(('<', '>=', '!=', '='))}{self.term()}"]

    def external(self) -> list[str]:
        way = self.random.choice(("external", "external-tuple", "external-test", "not-external"))
        self.used.add(way)
        if way == "external" and not self.recursive:
            variable = self.new()
            inputs = self.term()
            self.bound.append(variable)
            return [f"&next({inputs};{variable})"]
        if way == "external-tuple":
            first, second = self.new(), self.new()
            inputs = f"{self.term()},{self.term()}"
            if self.bound and self.later_dice.random() < 0.6:
                self.used.add("external-arithmetic")
                output = f"{self.later_dice.choice(self.bound)}+{self.later_dice.randint(0, 1)}"
                self.bound.append(first)
                return [f"&both({inputs};{first},{output})"]
            self.bound += (first, second)
            return [f"&both({inputs};{first},{second})"]
        return [f"{'not ' if way == 'not-external' else ''}&even({self.term()};)"]
