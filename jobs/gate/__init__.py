"""Gate: accept a batch, or the part of it that is consistent (``shiq gate``). The procedure is in
`shiq.jobs.gate.decide`.
"""

from __future__ import annotations

from shiq.jobs.gate.answer import ACCEPTED, REFUSED, SPLIT, WITH_THE_BATCH, GateAnswer, SetAsideLine
from shiq.jobs.gate.decide import gate
from shiq.jobs.gate.output_files import OutputFiles, write_outputs, write_reasons
from shiq.jobs.gate.repairing import gate_with_repair
from shiq.jobs.gate.settings import GateOptions
from shiq.jobs.gate.waivers import Policy, QuarantineLimit, parse_limit, read_policy

__all__ = [
    "ACCEPTED",
    "REFUSED",
    "SPLIT",
    "WITH_THE_BATCH",
    "GateAnswer",
    "GateOptions",
    "OutputFiles",
    "Policy",
    "QuarantineLimit",
    "SetAsideLine",
    "gate",
    "gate_with_repair",
    "parse_limit",
    "read_policy",
    "write_outputs",
    "write_reasons",
]
