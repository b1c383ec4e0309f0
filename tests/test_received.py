"""Lines of sources that nothing can read twice: what ends them is told, whenever it comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.streaming.received import ReceivedLines


def test_a_source_that_fails_while_its_end_is_asked_for_has_not_ended(tmp_path: Path) -> None:
    source: Any = None
    lines = ReceivedLines(source, tmp_path / "lines")

    class Failing:
        """A thread that ends by a failure just before it is asked whether it lives."""

        def is_alive(self) -> bool:
            lines.failed = OSError("the socket broke")
            return False

    lines.__dict__["_thread"] = Failing()
    with pytest.raises(OSError, match="the socket broke"):
        _ = lines.is_over
