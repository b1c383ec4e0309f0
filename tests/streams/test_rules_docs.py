"""docs/RULES.md: every example runs, and gives the lines that stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiq.streams.front.event import Record
from shiq.streams.front.intake import RejectLog, WatermarkTracker
from shiq.streams.front.local import LocalRunner
from shiq.streams.rules import Program, ProgramError
from shiq.streams.rules.evaluation import Engine
from shiq.streams.rules.explanation import ExplainingEvaluator
from shiq.streams.rules.naive_evaluation import NaiveEvaluator
from shiq.streams.rules.session import EvaluationOptions
from shiq.streams.rules.stream import RuleIntake, RulesCollector, RulesOperator
from shiq.streams.rules.tokens import read_atom

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "RULES.md"
_BLOCK = re.compile(r"^```(rules|log|out|bad|why)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FUNCTIONS = {"close": lambda x, y: abs(x - y) < 3, "twice": lambda x: 2 * x}


def examples(text: str) -> Iterator[tuple[int, str, tuple[str, str], tuple[str, str], str]]:
    """(place, kind, (options, program), (options, log), output) of each example."""
    program, log = ("", ""), ("", "")
    for found in _BLOCK.finditer(text):
        kind, options, content = found.groups()
        if kind == "rules":
            program = options, content
        elif kind == "log":
            log = options, content
        else:
            asked = content if kind != "why" else f"{options.strip()}\n{content}"
            yield text[: found.start()].count("\n") + 1, kind, program, log, asked


def told(program: tuple[str, str], log: tuple[str, str]) -> str:
    """The lines that come out."""
    rows: list[str] = []
    stream = _stream(program, log)
    stream.write = rows.extend
    stream.base_operator = replace(
        stream.base_operator, quads=bool(stream.base_operator.program.checked_program.mappings)
    )
    _feed(stream, log[1])
    return "".join(row + "\n" for row in rows)


def why(program: tuple[str, str], log: tuple[str, str], atom: str, when: int) -> str:
    """What --why prints."""
    stream = _stream(program, log)
    settings = stream.base_operator.program.checked_program, FUNCTIONS
    explaining = ExplainingEvaluator(Engine(*settings), NaiveEvaluator(*settings), when)
    stream.base_operator = replace(stream.base_operator, evaluator=explaining)
    _feed(stream, log[1])
    found = explaining.explain_atom(stream.base_operator.program, *read_atom(atom))
    assert found is not None
    return "\n".join(found.text_lines()) + "\n"


def faults(program: tuple[str, str]) -> str:
    with pytest.raises(ProgramError) as caught:
        Program.parse(program[1], FUNCTIONS)
    return f"{caught.value.message}\n"


def _stream(program: tuple[str, str], log: tuple[str, str]) -> RulesCollector:
    parsed = Program.parse(program[1], FUNCTIONS, at_most_binds="at_most_binds" in program[0])
    timeline = "on-input" if "on-input" in log[0] else "dense"
    options = EvaluationOptions(timeline, complete_windows="complete_windows" in log[0])
    arrivals = RuleIntake(WatermarkTracker(), RejectLog())
    return RulesCollector(RulesOperator(parsed, options), arrivals, lambda rows: None)


def _feed(stream: RulesCollector, log: str) -> None:
    runner = LocalRunner(stream)
    for number, line in enumerate(log.splitlines(), 1):
        runner.process(Record("log", number, line.encode()))
    result = runner.finish()
    assert result.exit_code == 0


EXAMPLES = list(examples(DOCUMENT.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("place", "kind", "program", "log", "output"),
    EXAMPLES,
    ids=[f"line-{place}" for place, *_ in EXAMPLES],
)
def test_examples_of_the_document(
    place: int, kind: str, program: tuple[str, str], log: tuple[str, str], output: str
) -> None:
    if kind == "out":
        assert told(program, log) == output
    elif kind == "bad":
        assert faults(program) == output
    else:
        asked, _, text = output.partition("\n")
        atom, when = asked.split(" ")
        assert why(program, log, atom, int(when)) == text


def test_python_examples_of_the_document() -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert blocks
    for block in blocks:
        exec(compile(block, str(DOCUMENT), "exec"), {})


def test_the_document_has_every_construct() -> None:
    programs = " ".join(program[1] for _, _, program, _, _ in EXAMPLES)
    words = [
        "#temp",
        "#trigger_frequency",
        "#show",
        "#rdf",
        "@now",
        "#count",
        "#sum",
        "#min",
        "#max",
        "at least",
        "at most",
    ]
    wanted = [*words, "always in", "count N in", "not ", " in {", " in [", "&"]
    assert [word for word in wanted if word not in programs] == []
