"""HTTP requests that never follow a redirect."""

from __future__ import annotations

from http.client import HTTPResponse
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener


class _NoRedirect(HTTPRedirectHandler):
    """Handler by which a redirect is an error."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Return no new request, so that the redirect is reported as an error."""
        return None


def send_request(request: Request, seconds: float) -> HTTPResponse:
    """Send ``request`` without following redirects. Waits ``seconds`` at most for each part of the
    answer.

    Raises: urllib.error.HTTPError for all but an answer of success, OSError, HTTPException.
    """
    return build_opener(_NoRedirect).open(request, timeout=seconds)
