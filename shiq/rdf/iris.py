"""References to IRIs, resolved against a base."""

from __future__ import annotations

import re

_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*")


def resolve(base: str, reference: str) -> str:
    """``reference`` relative to the absolute IRI ``base``; as it stands where it is absolute
    itself, dots in its path too.

    Source: RFC 3986, section 5.2. Raises: ValueError where a colon makes it neither. What comes
    out may still be no IRI.
    """
    scheme, authority, path, query, fragment = _parts(reference)
    if scheme is not None:
        if not _SCHEME.fullmatch(scheme):
            raise ValueError(f"{reference!r} begins with no scheme of IRIs")
        return reference
    if authority is None and ":" in path.partition("/")[0]:
        raise ValueError(f"{reference!r} has a colon in its first segment, and no scheme before it")
    base_scheme, base_authority, base_path, base_query, _ = _parts(base)
    if authority is not None:
        path = _without_dots(path)
    else:
        authority = base_authority
        if not path:
            path = base_path
            query = base_query if query is None else query
        elif path.startswith("/"):
            path = _without_dots(path)
        elif base_authority is not None and not base_path:
            path = _without_dots("/" + path)
        else:
            path = _without_dots(base_path[: base_path.rfind("/") + 1] + path)
    if authority is None and path.startswith("//"):
        raise ValueError(f"{reference!r} leads to a path that would read as a host")
    begin = f"{base_scheme}:" + ("" if authority is None else f"//{authority}")
    return (
        begin
        + path
        + ("" if query is None else f"?{query}")
        + ("" if fragment is None else f"#{fragment}")
    )


def _parts(text: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    match = _PARTS.fullmatch(text)
    assert match is not None
    return match[1], match[2], match[3], match[4], match[5]


def _without_dots(path: str) -> str:
    """``path`` as it is once its dots are followed."""
    found: list[str] = []
    segments = path.split("/")
    for at, segment in enumerate(segments):
        if segment == "..":
            if len(found) > 1 or (found and found[0]):
                found.pop()
        elif segment != ".":
            found.append(segment)
            continue
        if at == len(segments) - 1:
            found.append("")
    return "/".join(found)
