r"""Render the HTML pages of shiq from the templates in `templates/`.

Every value that a template prints is made visible and escaped here, whatever the template does.

Text from data, made safe to look at.

>>> escape_invisible("a\u202eb\n")
'a\\u202Eb\\u000A'
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from shiq.support import pluralize

if TYPE_CHECKING:
    from jinja2 import Environment


def escape_invisible(text: str) -> str:
    """Escape characters of ``text`` that are invisible or change the direction of text."""
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else _escape_character(c) for c in text)
    )


def escape_and_cut(text: str, most: int) -> str:
    """Escape ``text`` and cut it to ``most`` characters."""
    shown = escape_invisible(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _escape_character(character: str) -> str:
    r"""Escape one character as \u and its code."""
    code = ord(character)
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


#: Characters of a value or a line that a page shows, unless the template says another number.
CHARACTERS: Final = 600
# Between the parts of a name.
_JOINTS = re.compile(r"(?<=\w[/.#_:-])(?=\w)")


@cache
def environment() -> Environment:
    """Return the Jinja environment of the page templates: escaping is always on, and unknown names
    are errors.
    """
    # Loaded where a page is written: most commands write none.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("shiq.jobs", "templates"),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": lambda value: "" if value is None else f"{value:,.0f}",
        "decimal": lambda value, digits: "" if value is None else f"{value:.{digits}f}",
        "count": pluralize,
        "short": cut_text,
        "joints": split_at_joints,
    }
    return made


def render(template: str, **values: Any) -> str:
    """Render the HTML page ``template``, a path below `templates/`, with ``values``."""
    return environment().get_template(template).render(values)


def cut_text(text: str, most: int = CHARACTERS) -> str:
    """Cut ``text`` to at most ``most`` characters, between words if it can be."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    return f"{cut[: at if (at := cut.rfind(' ')) > most // 2 else len(cut)]} …"


def split_at_joints(name: str) -> list[str]:
    """Split ``name`` where a line may be broken, after separators.

    >>> split_at_joints("urn:zoo#big_cat")
    ['urn:', 'zoo#', 'big_', 'cat']
    """
    return _JOINTS.split(escape_invisible(name))


def _finalize(value: object) -> object:
    """Escape the invisible characters of a value that a template prints; markup stays as it is."""
    return value if hasattr(value, "__html__") else escape_invisible(str(value))
