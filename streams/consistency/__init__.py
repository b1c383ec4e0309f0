"""Exact consistency checking of streams against a DL-Lite TBox, window by window.

`plan` compiles the TBox; `check_stream` checks a stream in this process. The mathematics:
docs/STREAMS.md.
"""

from shiq.streams.consistency.check import check_stream
from shiq.streams.consistency.plan import StreamPlan, plan
from shiq.streams.consistency.verdicts import StreamResult

__all__ = ["StreamPlan", "StreamResult", "check_stream", "plan"]
