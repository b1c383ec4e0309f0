"""A simplified TBox."""

from __future__ import annotations

from typing import Any


def simplified_text(report: dict[str, Any]) -> str:
    """What `shiq simplify` prints: each part under its name."""
    lines: list[str] = []
    for name, part in report.items():
        if isinstance(part, list):
            lines.append(f"{name} ({len(part)})")
            lines += [
                f"  {row if isinstance(row, str) else ', '.join(map(str, row.values())) if isinstance(row, dict) else row}"
                for row in part
            ]
        else:
            lines.append(f"{name}: {part}")
        lines.append("")
    return "\n".join(lines).rstrip()
