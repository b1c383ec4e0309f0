"""Letting a batch in, or the good part of it: what ``shiq gate`` does. How it goes on the whole
is in `jobs.gate.decide`.
"""

from __future__ import annotations

from jobs.gate.batch import UNITS
from jobs.gate.decide import ASIDES, IDENTITIES, MODES, gate
from jobs.gate.gated import ACCEPTED, REFUSED, SPLIT, WITH_THE_BATCH, GateAnswer, SetAsideLine
from jobs.gate.quarantine_limit import QuarantineLimit, parse_limit
from jobs.gate.sides import Sides, write_reasons, write_sides
from jobs.gate.waivers import Policy, read_policy

__all__ = [
    "ACCEPTED",
    "ASIDES",
    "IDENTITIES",
    "MODES",
    "REFUSED",
    "SPLIT",
    "UNITS",
    "WITH_THE_BATCH",
    "GateAnswer",
    "Policy",
    "QuarantineLimit",
    "SetAsideLine",
    "Sides",
    "gate",
    "parse_limit",
    "read_policy",
    "write_reasons",
    "write_sides",
]
