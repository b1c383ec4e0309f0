"""Rules over streams: stratified Datalog with windows, one model a point.

>>> program = Program.parse("alarm(X) :- hot(X) at least 2 in [3].")
>>> [model.derived for model in program.run([(0, ["hot(a)"]), (2, ["hot(a)", "hot(b)"])])]
[[], [], ['alarm(a)']]
"""

from streams.rules.problems import EvaluationError, ProgramError, ProgramProblem
from streams.rules.program import Program
from streams.rules.session import RuleSession

__all__ = ["EvaluationError", "Program", "ProgramError", "ProgramProblem", "RuleSession"]
