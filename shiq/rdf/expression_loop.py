"""Build OWL expressions without recursion: a stack holds the constructs that wait for their
operands.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from shiq.rdf.graph import UnmappedError
from shiq.rdf.triples import Term, term_text

#: Deeper or larger expressions are refused: what walks them by recursion, or compares them, must
#: not break down later.
MAX_DEPTH = 200
MAX_SIZE = 1_000_000
Key: TypeAlias = tuple[str, str, int]  # sort, node, defining triple (-1: the only one)
#: Sort and node; the defining triple, where the node has several.
Request: TypeAlias = tuple[str, Term] | tuple[str, Term, int]
Build: TypeAlias = Generator[Request, Any, Any]


class _TooDeepError(UnmappedError):
    """Signal: an expression is nested too deeply or too large; its subexpressions may still be
    used.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            "malformed", f"a class expression {what}", "give the inner parts names of their own"
        )


@dataclass
class _BuiltExpression:
    """A finished expression: its value, its own triples, its operands, and its depth and size as a
    tree.
    """

    value: Any
    triples: list[int]
    operands: list[Key]
    depth: int
    size: int


@dataclass
class _OpenConstruct:
    """A construct (restriction, intersection, …) on the stack, some of whose operands are not yet
    built.
    """

    key: Key
    triples: list[int]
    steps: Build
    operands: list[Key] = field(default_factory=list)
    depth: int = 1
    size: int = 1


class ExpressionLoop:
    """Builder of the expressions of one graph by a stack. Each node is built once and then cached.

    leaf: the value of a name; None for a blank node; raises UnmappedError
    construct: a generator for the construct at a node, or for the triple of it that is named: asks
        for operands, and appends its triples to the list that is given
    """

    def __init__(
        self,
        leaf: Callable[[str, Term], Any],
        construct: Callable[[str, str, int, list[int]], Build],
    ) -> None:
        self._leaf, self._construct = leaf, construct
        self._built_expressions: dict[Key, _BuiltExpression | UnmappedError] = {}

    def triples_of(self, keys: Iterable[Key], done: set[Key]) -> Iterator[int]:
        """Yield the triples of the expressions ``keys`` and their subexpressions, except
        expressions in ``done``; then add them to it.
        """
        stack = list(keys)
        while stack:
            key = stack.pop()
            built = self._built_expressions.get(key)
            if key not in done and isinstance(built, _BuiltExpression):
                done.add(key)
                yield from built.triples
                stack += built.operands

    def build(self, sort: str, node: Term, used: list[Key]) -> Any:
        """Build the class expression or data range (``sort``) at ``node``, and append its key to
        ``used``. Raises: UnmappedError.
        """
        leaf = self._leaf(sort, node)
        return leaf if leaf is not None else self.build_by_key((sort, str(node), -1), used)

    def build_by_key(self, wanted: Key, used: list[Key]) -> Any:
        """Build the expression with the key ``wanted`` and its operands, by a stack of open
        constructs.

        Terminates: every node is built once, and a node inside itself is an error.
        """
        used.append(wanted)
        if wanted not in self._built_expressions:
            stack = [self._open_construct(wanted)]
            open_keys = {wanted}
            answer: Any = None
            problem: UnmappedError | None = None
            while stack:
                frame = stack[-1]
                try:
                    sort, node, *triple = (
                        frame.steps.throw(problem)
                        if problem is not None
                        else frame.steps.send(answer)
                    )
                    answer, problem = None if triple else self._leaf(sort, node), None
                    if answer is None:
                        key = (sort, str(node), triple[0] if triple else -1)
                        answer = self._value_or_push(frame, key, stack, open_keys)
                except StopIteration as finished:
                    answer = self._store_value(frame, finished.value)
                    open_keys.discard(stack.pop().key)
                    problem = self._add_operand(stack[-1], frame.key) if stack else None
                except UnmappedError as error:
                    problem = error
                    if not isinstance(error, _TooDeepError):
                        self._built_expressions[frame.key] = error
                    open_keys.discard(stack.pop().key)
            if problem is not None:
                raise problem
        built = self._built_expressions[wanted]
        if isinstance(built, UnmappedError):
            raise built
        return built.value

    def _value_or_push(
        self, frame: _OpenConstruct, key: Key, stack: list[_OpenConstruct], open_keys: set[Key]
    ) -> Any:
        """Return the expression at ``key`` if it is built; else push its construct on the stack and
        return None.
        """
        known = self._built_expressions.get(key)
        if isinstance(known, _BuiltExpression):
            if problem := self._add_operand(frame, key):
                raise problem
            return known.value
        if known is not None:
            raise known
        if key in open_keys:
            raise UnmappedError(
                "malformed", f"the class expression at {term_text(key[1])} contains itself"
            )
        if len(stack) >= MAX_DEPTH:
            raise _TooDeepError(f"nested deeper than {MAX_DEPTH} levels")
        stack.append(self._open_construct(key))
        open_keys.add(key)
        return None

    def _open_construct(self, key: Key) -> _OpenConstruct:
        """Start the generator that builds the construct at ``key``."""
        triples: list[int] = []
        sort, node, triple = key
        return _OpenConstruct(key, triples, self._construct(sort, node, triple, triples))

    def _add_operand(self, frame: _OpenConstruct, key: Key) -> UnmappedError | None:
        """Record the finished expression ``key`` as an operand of ``frame``. Return the error if
        ``frame`` grows too large.
        """
        built = self._built_expressions[key]
        if isinstance(built, _BuiltExpression):
            frame.operands.append(key)
            frame.depth = max(frame.depth, built.depth + 1)
            frame.size += built.size
            if frame.depth > MAX_DEPTH or frame.size > MAX_SIZE:
                what = (
                    f"nested deeper than {MAX_DEPTH} levels"
                    if frame.depth > MAX_DEPTH
                    else f"of over {MAX_SIZE} parts"
                )
                return _TooDeepError(what)
        return None

    def _store_value(self, frame: _OpenConstruct, value: Any) -> Any:
        """Cache the value of a finished construct, and return it."""
        self._built_expressions[frame.key] = _BuiltExpression(
            value, frame.triples, frame.operands, frame.depth, frame.size
        )
        return value
