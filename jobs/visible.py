"""Text from data, made safe to look at.

>>> visible("a\\u202eb\\n")
'a\\\\u202Eb\\\\u000A'
"""

from __future__ import annotations


def visible(text: str) -> str:
    """``text`` with an escape for every character that shows nothing, or moves what is around
    it: controls, line ends, marks that turn the direction of writing, zero-width and unassigned
    characters.
    """
    return (
        text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)
    )


def shortened(text: str, most: int) -> str:
    """``text`` made visible, of ``most`` characters at the most."""
    shown = visible(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
