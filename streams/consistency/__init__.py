"""Consistency of streams against a DL-Lite TBox, window by window, exactly.

`plan` says how; `check_stream` does it in this process. The mathematics: docs/STREAMS.md.
"""

from streams.consistency.embedded import check_stream
from streams.consistency.plan import StreamPlan, plan
from streams.consistency.verdicts import StreamResult

__all__ = ["StreamPlan", "StreamResult", "check_stream", "plan"]
