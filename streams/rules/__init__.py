"""Rules over streams: stratified Datalog with windows, one model per point of time.

>>> program = Program.parse("alarm(X) :- hot(X) at least 2 in [3].")
>>> [model.derived for model in program.run([(0, ["hot(a)"]), (2, ["hot(a)", "hot(b)"])])]
[[], [], ['alarm(a)']]
"""

from shiq.streams.rules.program import Program
from shiq.streams.rules.session import RuleSession
from shiq.streams.rules.syntax import EvaluationError, ProgramError, ProgramProblem

__all__ = ["EvaluationError", "Program", "ProgramError", "ProgramProblem", "RuleSession"]
