"""HTTP requests that go where they are sent, or nowhere."""

from __future__ import annotations

from http.client import HTTPResponse
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def send_request(request: Request, seconds: float) -> HTTPResponse:
    """Send ``request`` without following redirects, and wait ``seconds`` for each part of the answer.

    Raises: urllib.error.HTTPError for all but an answer of success, OSError, HTTPException.
    """
    answer: HTTPResponse = build_opener(_NoRedirect).open(request, timeout=seconds)
    return answer
