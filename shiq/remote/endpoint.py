"""SPARQL endpoints as inputs: the triples of a CONSTRUCT query, counted and fetched page by page.

An address is ``sparql:URL?query=QUERY#SETTINGS``. Without a query it stands for the default graph.
The query may be ``file:PATH``. Settings, which are not sent: ``auth=env:NAME`` or
``auth=file:PATH``, ``page`` (triples of an answer), ``seconds`` (for all of it).

The triples are counted before and after, and each page has to hold as many as it should. It begins
with the last triple of the page before, and shares no other. So a changed count, pages that overlap
or leave a gap, and an answer cut short are errors. Triples that are there all the time are read,
since a gap that hides one of them would leave two pages in a row without a common triple. An
exchange of as many others, on pages already read, goes unnoticed.

Blank nodes have no order and no name that a second answer shares. So where the triples have any,
and where they fit into one page, they are fetched in one answer.
"""

from __future__ import annotations

import base64
import json
import re
import tempfile
import time
import uuid
from array import array
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import sha256
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, Final, NamedTuple
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import Request

import pyoxigraph as ox

from shiq.deadline import (
    DeadlineExceeded,
    interrupt_after,
    is_past,
    report_stage,
    seconds_left,
)
from shiq.errors import InputError, UsageError
from shiq.files import resolve_secret
from shiq.inputs.limits import read_limits
from shiq.rdf.sparql_construct import ALL_TRIPLES, TripleQuery, read_construct
from shiq.remote.copies import shared_cache
from shiq.remote.place import ENDPOINT, LOOPBACK
from shiq.remote.web import send_request

#: Triples of an answer, and seconds for all answers, unless the address says otherwise.
PAGE, SECONDS = 1_000_000, 600.0
_SETTINGS: Final = ("auth", "page", "seconds")
_TRIPLES: Final = {
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "text/plain": ox.RdfFormat.N_TRIPLES,
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/x-turtle": ox.RdfFormat.TURTLE,
}
_COUNTS: Final = ("application/sparql-results+json", "application/json")
_PART: Final = 1 << 16
#: Bytes of an answer that says how many triples there are.
_COUNT_BYTES: Final = 1 << 16
_FORM: Final = "sparql:https://HOST/PATH?query=QUERY"
_LATER: Final = "Ask again later, for smaller pages (#page=N), or for fewer triples."


class EndpointSnapshot(NamedTuple):
    """Triples fetched from an endpoint: the file with them, and a note on their number and the
    time.
    """

    path: Path
    note: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A SPARQL endpoint with the query for its triples.

    parameters: of the address, sent with each query.
    authorization: header, or empty.
    page: triples of an answer at most, and at least 2.
    seconds: for all answers together.
    """

    url: str
    host: str
    parameters: tuple[tuple[str, str], ...]
    query: TripleQuery
    authorization: str = ""
    page: int = PAGE
    seconds: float = SECONDS


def parse_endpoint(address: str) -> Endpoint:
    """Parse the address of an endpoint. Raises: UsageError, InputError. Neither message shows a
    secret.
    """
    whole, _, rest = address.removeprefix(ENDPOINT).partition("#")
    try:
        parts = urlsplit(whole)
        host, _ = parts.hostname or "", parts.port
        # What is not percent-encoded has its plus signs as they stand.
        text = parts.query.replace("+", "%2B") if " " in parts.query else parts.query
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True) if text else []
        settings = (
            dict(parse_qsl(rest, keep_blank_values=True, strict_parsing=True)) if rest else {}
        )
    except ValueError as error:
        raise _address_error("that is no address of a SPARQL endpoint") from error
    url = parts._replace(query="").geturl()
    if not host or not address.isprintable() or not re.fullmatch(r"[!-~]+", url):
        raise _address_error("that is no address of a SPARQL endpoint")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"the address of the endpoint at {host} has a user or a password in it",
            "Say where they are: …#auth=env:NAME or …#auth=file:PATH, with user:password there.",
        )
    queries = [value for name, value in pairs if name == "query"]
    if len(queries) > 1 or not all(map(str.strip, queries)) or not set(settings) <= {*_SETTINGS}:
        raise _address_error(f"{host}: an address has one query, and no settings but {_SETTINGS}")
    return Endpoint(
        url,
        host,
        tuple(pair for pair in pairs if pair[0] != "query"),
        read_construct(resolve_secret(queries[0], "query") if queries else ALL_TRIPLES),
        _authorization(settings["auth"], parts.scheme, host) if "auth" in settings else "",
        max(2, int(_positive_setting(settings, "page", PAGE))),
        _positive_setting(settings, "seconds", SECONDS),
    )


def _address_error(what: str) -> UsageError:
    """Make the error for an address of an endpoint that is malformed."""
    return UsageError(
        what, f"Give {_FORM}, with # as %23 and & as %26 in the query; or a file: query=file:PATH."
    )


def _positive_setting(settings: dict[str, str], name: str, usual: float) -> float:
    """Read the positive integer setting ``name`` of an address; ``usual`` if it is missing. Raises:
    UsageError.
    """
    text = settings.get(name, f"{usual:.0f}")
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise UsageError(f"#{name}={text} is no number", f"Give a whole number, as #{name}=500.")
    return float(text)


def _authorization(given: str, scheme: str, host: str) -> str:
    """Return the Authorization header; ``given`` says where the credentials are (env:NAME,
    file:PATH). Raises: UsageError, InputError.
    """
    if not given.startswith(("env:", "file:")):
        raise UsageError(
            "#auth= says where credentials are, and not what they are",
            "Give #auth=env:NAME or #auth=file:PATH.",
        )
    if scheme == "http" and host not in LOOPBACK:
        raise UsageError(
            f"#auth: http://{host} would send the credentials in the clear",
            "Give an https address.",
        )
    secret = resolve_secret(given, "#auth").strip()
    if re.fullmatch(r"(?:Basic|Bearer) [!-~]+", secret, re.IGNORECASE):
        return secret
    if ":" not in secret or not secret.isprintable():
        raise UsageError(
            f"#auth: {given} holds no credentials", "Put user:password there, or Bearer TOKEN."
        )
    return f"Basic {base64.b64encode(secret.encode()).decode()}"


def read_endpoint(address: str) -> EndpointSnapshot:
    """Fetch the triples of the endpoint at ``address`` to a file of N-Triples.

    Raises: InputError, with host and page, for an endpoint that fails, is slow, changes meanwhile
        or does not answer all; UsageError.
    """
    endpoint = parse_endpoint(address)
    made = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    reading = _EndpointReader(endpoint, time.monotonic() + endpoint.seconds)
    name = f"{sha256(address.encode()).hexdigest()[:16]}-{uuid.uuid4().hex}.nt"
    try:
        with (
            interrupt_after(reading.deadline),
            shared_cache().create("sparql", name) as temporary,
            temporary.open("wb") as file,
        ):
            triples, pages = reading.copy_to(file)
    except DeadlineExceeded as over:
        if not is_past(reading.deadline):
            raise  # the limit of the check
        raise reading.late_error() from over
    path = shared_cache().folder / "sparql" / name
    pages_text = f"{pages} pages" if pages > 1 else "one answer"
    return EndpointSnapshot(path, f"{address}: {triples:,} triples in {pages_text}, as of {made}")


@dataclass
class _EndpointReader:
    """One fetch of an endpoint's triples. ``step``: the current request, for messages; ``size``:
    bytes received so far.
    """

    endpoint: Endpoint
    deadline: float
    step: str = "count"
    size: int = 0

    def copy_to(self, file: IO[bytes]) -> tuple[int, int]:
        """Write all triples to ``file``. Return the number of triples and of pages. Raises:
        InputError.
        """
        query, page = self.endpoint.query, self.endpoint.page
        total, blank = self._count_triples()
        is_whole = total <= page or blank > 0
        stride = page - 1
        # The last page asks for more than is left, and would show it.
        pages = 1 if is_whole else -(-total // stride)
        hashes, before = array("q"), set[int]()
        for i in range(pages):
            self.step = f"page {i + 1} of {pages}"
            begun, wanted = len(hashes), total if is_whole else min(page, total - i * stride)
            shared = 0
            for line in self._triple_lines(
                query.page() if is_whole else query.page(page, i * stride)
            ):
                if (code := hash(line)) in before:
                    shared += 1
                    continue
                file.write(line + b"\n")
                hashes.append(code)
            if (found := len(hashes) - begun + shared) > wanted:
                raise self._changed_error(f"it has {found:,} triples, and {wanted:,} were left")
            if found < wanted:
                raise self.step_error(
                    f"it has {found:,} of {wanted:,} triples",
                    "Does the server cap or cut its answers, or do the data change? "
                    + (
                        "With blank nodes all triples have to come in one answer: raise its limit."
                        if blank
                        else "Ask for smaller pages (#page=N), when nobody writes to it."
                    ),
                )
            if shared != (i > 0):
                raise self._changed_error(
                    f"it shares {shared:,} triples with the page before, and 1 was expected"
                )
            before = set() if is_whole else set(hashes[begun:])
        if repeated := _first_repeated_index(hashes):
            self.step = f"page {(repeated - 1) // stride + 1} of {pages}"
            raise self._changed_error("it has triples of an earlier page")
        self.step = "count at the end"
        if (now := self._count_triples()[0]) != total:
            raise self._changed_error(f"there are {now:,} triples, and before there were {total:,}")
        return total, pages

    def _count_triples(self) -> tuple[int, int]:
        """Ask for the number of triples, and of those with a blank node. Raises: InputError."""
        with self._post_query(self.endpoint.query.count, _COUNTS) as (_, body):
            try:
                (row,) = json.loads(body.read(_COUNT_BYTES))["results"]["bindings"]
                return int(row["n"]["value"]), int(float(row.get("blank", {}).get("value", 0)))
            except (ValueError, TypeError, LookupError, AttributeError) as error:
                raise self.step_error(
                    "the answer has no number of triples", f"Is it an endpoint? Give {_FORM}."
                ) from error

    def _triple_lines(self, query: str) -> Iterator[bytes]:
        """Yield the triples that ``query`` constructs, each as a line of N-Triples. Raises:
        InputError.
        """
        with self._post_query(query, _TRIPLES) as (kind, body):
            try:
                if _TRIPLES[kind] is ox.RdfFormat.TURTLE:
                    for quad in ox.parse(input=body, format=ox.RdfFormat.TURTLE):
                        yield f"{quad.triple} .".encode()
                    return
                for line in body:
                    if not line.endswith(b"\n"):  # perhaps cut short
                        list(ox.parse(input=line, format=ox.RdfFormat.N_TRIPLES))
                    if (text := line.strip()) and not text.startswith(b"#"):
                        yield text
            except (SyntaxError, ValueError) as error:
                raise self.step_error(f"the answer is broken: {error}", _LATER) from error

    @contextmanager
    def _post_query(self, query: str, kinds: Collection[str]) -> Iterator[tuple[str, IO[bytes]]]:
        """Context manager: send ``query``. Yields the media type of the answer (one of ``kinds``),
        and its body.

        Raises: InputError.
        """
        asked = self.endpoint
        request = Request(
            asked.url,
            urlencode([*asked.parameters, ("query", query)]).encode(),
            {
                "Accept": ", ".join(kinds),
                "Content-Type": "application/x-www-form-urlencoded",
                "User-Agent": "shiq",
            },
        )
        if asked.authorization:
            request.add_unredirected_header("Authorization", asked.authorization)
        report_stage(f"asking {asked.host}: {self.step}")
        with tempfile.TemporaryFile() as body:
            try:
                with send_request(request, self._seconds_left()) as answer:
                    kind = answer.headers.get_content_type()
                    if kind not in kinds:
                        raise self.step_error(
                            f"it answers {kind} where {next(iter(kinds))} was asked for",
                            f"Is that the address of an endpoint, and not of its page? Give {_FORM}.",
                        )
                    self._copy_answer(answer, body)
            except HTTPError as error:
                with error:
                    raise self._status_error(error) from error
            except TimeoutError as error:
                raise self.late_error() from error
            except (OSError, HTTPException) as error:
                if isinstance(getattr(error, "reason", None), TimeoutError):
                    raise self.late_error() from error
                why = getattr(error, "reason", "") or type(error).__name__
                raise self.step_error(f"it cannot be reached, or stopped: {why}", _LATER) from error
            body.seek(0)
            yield kind, body

    def _copy_answer(self, answer: HTTPResponse, body: IO[bytes]) -> None:
        """Copy the body of an answer as it arrives, within the limits of time and size. Raises:
        InputError.
        """
        size, length = 0, answer.headers.get("Content-Length", "")
        expected = int(length) if length.isdecimal() and not answer.chunked else None
        most = read_limits().document
        while size != expected and (part := answer.read1(_PART)):
            body.write(part)
            size += len(part)
            self.size += len(part)
            self._seconds_left()
            if self.size > most:
                raise self.step_error(
                    f"it answers with over {most:,} bytes",
                    "Ask for fewer triples, or raise SHIQ_MAX_DOCUMENT.",
                )
        if expected is not None and size != expected:
            raise self.step_error(f"it stopped after {size:,} of {expected:,} bytes", _LATER)

    def _seconds_left(self) -> float:
        """Return the seconds until the deadline. Raises: InputError after it."""
        if is_past(self.deadline):
            raise self.late_error()
        return seconds_left(self.deadline) or 0.01

    def _status_error(self, error: HTTPError) -> InputError:
        """Make the error for an HTTP status that is no success, with the server's redirect or text."""
        said, remedy = "", _LATER
        if error.code in (401, 403):
            remedy = "Say where credentials are: #auth=env:NAME or #auth=file:PATH."
        elif 300 <= error.code < 400:
            said = f", and leads to {error.headers.get('Location', 'nowhere')}"
            remedy = "Redirects are not followed: give that address, if you trust it."
        else:
            with suppress(OSError, HTTPException):
                said = f": {' '.join(error.read(_PART).decode('utf-8', 'replace').split())}"
        text = "".join(x for x in said[:200] if x.isprintable())
        return self.step_error(f"it answers {error.code}{text}", remedy)

    def late_error(self) -> InputError:
        """Make the error for an endpoint that took too long."""
        return self.step_error(
            f"it did not answer within {self.endpoint.seconds:g} s",
            "Ask for fewer triples, or allow more time: #seconds=N.",
        )

    def _changed_error(self, what: str) -> InputError:
        """Make the error for data that changed between two requests."""
        return self.step_error(
            f"{what}: the data changed meanwhile", "Run the same again, when nobody writes to it."
        )

    def step_error(self, what: str, remedy: str) -> InputError:
        """Make an error that names the host and the current request."""
        return InputError(
            f"SPARQL endpoint {self.endpoint.host}, {self.step}: {what}",
            f"{remedy} Nothing of it was used.",
        )


def _first_repeated_index(hashes: array[int]) -> int:
    """Return the index of the first hash that occurred before; 0 if none did."""
    # Loaded where something is fetched.
    import numpy as np

    _, first = np.unique(np.frombuffer(hashes, np.int64), return_index=True)
    return int(np.setdiff1d(np.arange(len(hashes)), first)[0]) if len(first) < len(hashes) else 0
