"""A simplified TBox."""

from __future__ import annotations

from typing import Any


def simplified_text(report: dict[str, Any]) -> str:
    """What `shiq simplify` prints: each part under its name, a row a line."""
    parts: dict[str, Any] = {}
    for name, part in report.items():
        parts.update(
            {f"{name}, {inner}": rows for inner, rows in part.items()}
            if isinstance(part, dict)
            else {name: part}
        )
    lines: list[str] = []
    for name, part in parts.items():
        lines += (
            [f"{name} ({len(part)})", *map(_row, part)]
            if isinstance(part, list)
            else [f"{name}: {part}"]
        )
        lines.append("")
    return "\n".join(lines).rstrip()


def _row(row: Any) -> str:
    return f"  {', '.join(map(str, row.values())) if isinstance(row, dict) else row}"
