"""The service over HTTP, with an OpenAPI page at /docs."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from fastapi import Depends, FastAPI, HTTPException
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import shiq
from shiq.errors import InputError, ShiqError, UsageError
from shiq.inputs.formats import FORMAT_NAMES
from shiq.jobs.serving.service import BusyError, Document, Service, TextBatch

#: Seconds in which a request has to be here whole; else it is answered 408, and never keeps the
#: service from ending.
BODY_SECONDS: Final = 10
#: Names of this machine that a request may ask for.
LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")


class BatchBody(BaseModel):
    """A batch of triples as text."""

    model_config = ConfigDict(extra="forbid")
    insertions: str = Field("", description="A document of the triples to insert.")
    deletions: str = Field(
        "", description="A document of the triples to delete, which comes first."
    )
    format: str = Field("ntriples", description=f"The syntax of both: {', '.join(FORMAT_NAMES)}.")

    def to_batch(self) -> TextBatch:
        """Convert the request's body to a batch for the service."""
        return TextBatch(self.insertions, self.deletions, self.format)


class ExplainBody(BatchBody):
    """A batch, and whether repairs are wanted."""

    repairs: bool = Field(False, description="Look for the smallest changes that mend it.")


class GateBody(BatchBody):
    """A batch, and the mode in which a gate splits or rejects it."""

    mode: Literal["reject", "split"] = "split"
    aside: Literal["all", "least"] = "all"


def make_app(
    service: Service, token: str = "", hosts: Sequence[str] = LOOPBACK, most_bytes: int = 8 << 20
) -> ASGIApp:
    """Make the ASGI application that answers HTTP requests by ``service``.

    token: what a request has to bring as a bearer token; "": none.
    hosts: names in the header Host that are answered; others are refused (DNS rebinding).
    most_bytes: size of the largest request.
    """
    scheme = HTTPBearer(auto_error=False)

    def require_token(
        given: HTTPAuthorizationCredentials | None = Depends(scheme),  # noqa: B008 -- FastAPI's way
    ) -> None:
        brought = given.credentials if given else ""
        if token and not hmac.compare_digest(brought.encode(), token.encode()):
            raise HTTPException(
                401, "the token is missing or wrong", {"WWW-Authenticate": "Bearer"}
            )

    app = FastAPI(
        title="shiq",
        version=shiq.__version__,
        description="Do insertions keep a knowledge graph consistent? Nothing is written.",
        dependencies=[Depends(require_token)],
    )

    async def ask(question: Callable[..., Document], *arguments: Any) -> JSONResponse:
        return JSONResponse(await asyncio.wrap_future(service.submit(question, *arguments)))

    @app.post("/check", summary="Is the store with this batch consistent?")
    async def check(body: BatchBody) -> Any:
        return await ask(service.check, body.to_batch())

    @app.post("/explain", summary="The same, with the conflicts explained")
    async def explain(body: ExplainBody) -> Any:
        return await ask(service.explain, body.to_batch(), body.repairs)

    @app.post("/gate", summary="Which lines of this batch would a gate accept?")
    async def gate(body: GateBody) -> Any:
        return await ask(service.gate, body.to_batch(), body.mode, body.aside)

    @app.get("/status", summary="The store's snapshot, certificate and sizes")
    async def status() -> Any:
        return await ask(service.status)

    @app.exception_handler(ShiqError)
    async def tell_error(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ShiqError)
        return _error_answer(error)

    @app.exception_handler(RequestValidationError)
    async def tell_faults(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        # What came in is not sent back: it may be no text.
        faults = [{"loc": list(map(str, x["loc"])), "msg": x["msg"]} for x in error.errors()]
        return JSONResponse({"detail": faults}, 422)

    limited = _BodyLimit(app, most_bytes)
    return TrustedHostMiddleware(limited, allowed_hosts=[*hosts])


def _error_answer(error: ShiqError) -> JSONResponse:
    """Convert an error to an HTTP response with its message and remedy."""
    code = 400 if isinstance(error, InputError | UsageError) else 503
    if isinstance(error, BusyError):
        code = 429
    wait = {} if code == 400 else {"Retry-After": "1"}
    return JSONResponse({"detail": error.message, "remedy": error.remedy}, code, wait)


class _BodyLimit:
    """Middleware that answers 413 to requests with more than ``most`` bytes, and 408 to those that
    are not here after `BODY_SECONDS`.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        parts, code, detail = None, 413, f"more than {self._most:,} bytes"
        try:
            parts = await asyncio.wait_for(self._read_body(receive), BODY_SECONDS)
        except asyncio.TimeoutError:
            code, detail = 408, f"not here after {BODY_SECONDS} s"
        if parts is None:
            await JSONResponse({"detail": detail}, code)(scope, receive, send)
            return

        async def replay() -> Message:
            return parts.pop(0) if parts else await receive()

        await self._app(scope, replay, send)

    async def _read_body(self, receive: Receive) -> list[Message] | None:
        """Read the messages of a request; None if they are too large."""
        left = self._most
        parts: list[Message] = []
        while True:
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                return None
            parts.append(message)
            if message["type"] != "http.request" or not message.get("more_body"):
                return parts
