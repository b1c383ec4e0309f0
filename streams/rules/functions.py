"""Python functions that rules call: constants in, constants out.

Integers come in as int, all others as str without quotes; an int comes back as an integer, a str
as a string, a tuple or list as several outputs. Source: SPEC 004, section 2 ("v2").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from shiq.errors import InputError
from streams.rules.atoms import SURROGATE
from streams.rules.problems import EvaluationError
from streams.rules.syntax import External, StreamRule
from streams.rules.values import LIMIT, Row, Value, content, string

Functions: TypeAlias = Mapping[str, Callable[..., Any]]


def read_functions(path: str | Path) -> Functions:
    """The functions that a Python file defines or imports. Raises: InputError."""
    try:
        return functions_of(Path(path).read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"{path}, the file of functions, cannot be read: {why}",
            "Check the name after --python.",
        ) from error


def functions_of(text: str, file: str = "functions") -> Functions:
    """The functions of a Python text. Raises: InputError."""
    found: dict[str, Any] = {"__name__": "functions", "__file__": file}
    try:
        exec(compile(text, file, "exec"), found)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{file}: {type(error).__name__}: {error}", "Mend the file with the functions."
        ) from error
    return {
        name: value for name, value in found.items() if callable(value) and not name.startswith("_")
    }


def call(functions: Functions, rule: StreamRule, literal: External, inputs: Row) -> Row | None:
    """The outputs for ``inputs``; of a literal without outputs, () where it is true and None
    where not.

    Raises: EvaluationError with rule, function and arguments, where the function fails or gives
    what is no constant.
    """
    given = [value if isinstance(value, int) else content(value) for value in inputs]
    said = f"&{literal.function}({', '.join(map(repr, given))})"
    try:
        found = functions[literal.function](*given)
    except (Exception, SystemExit) as error:
        raise EvaluationError(
            rule, f"{said} failed: {type(error).__name__}: {error}", "Mend the function."
        ) from error
    if not literal.outputs:
        return () if _truth(found, rule, said) else None
    outputs = tuple(found) if isinstance(found, tuple | list) else (found,)
    if len(outputs) != len(literal.outputs):
        wanted = len(literal.outputs)
        raise EvaluationError(
            rule,
            f"{said} gave {len(outputs)} values, {wanted} are wanted",
            "Return a tuple of as many.",
        )
    return tuple(_constant(value, rule, said) for value in outputs)


def _truth(found: Any, rule: StreamRule, said: str) -> bool:
    if isinstance(found, int):
        return bool(found)
    raise EvaluationError(
        rule, f"{said} gave {found!r}, which is no truth value", "Return True or False."
    )


def _constant(found: Any, rule: StreamRule, said: str) -> Value:
    if isinstance(found, str):
        if SURROGATE.search(found):
            raise EvaluationError(
                rule, f"{said} gave {found!r}, half a character", "Return whole characters."
            )
        return string(found)
    if isinstance(found, int):
        if -LIMIT <= found < LIMIT:
            return int(found)
        raise EvaluationError(
            rule, f"{said} gave {found}, which is beyond 64 bits", "Return a string."
        )
    raise EvaluationError(
        rule,
        f"{said} gave {found!r}, which is no constant",
        "Return an int, a str, or a tuple of them.",
    )
