"""Send alerts after a check or a gate: a message to a webhook, and metrics for a monitor.

>>> row = HistoryRow("1", "2030-01-01T00:00:00Z", "check", "inconsistent", insertions_from=("tonight.nt",))
>>> run_message(row, "kg")
'shiq check of tonight.nt against kg: inconsistent; 0 conflicts'
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from shiq.errors import ShiqError, UsageError
from shiq.files import resolve_secret, write_atomically
from shiq.jobs.history import TIME, HistoryRow, batch_name
from shiq.remote.place import LOOPBACK
from shiq.support import pluralize

#: Seconds that a webhook has to answer, and causes that a message names.
POST_SECONDS, NAMED_CAUSES = 10.0, 3
#: Hosts of Microsoft's that take a card in place of a text.
_CARDS: Final = (".logic.azure.com", ".webhook.office.com", ".powerplatform.com")


def parse_address(given: str) -> str:
    """Check the address of one webhook, after reading it from a variable or file if it is kept
    secret. Raises: UsageError, InputError; their messages do not show the secret address.
    """
    address = resolve_secret(given, "--notify").strip()
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    if parts.scheme not in ("https", "http") or not host:
        raise UsageError(
            "--notify: that is no address of a webhook", "Give https://…, env:NAME or file:PATH."
        )
    if parts.scheme == "http" and host not in LOOPBACK:
        raise UsageError(
            f"--notify: http://{host} would send the message in the clear", "Give an https address."
        )
    return address


def run_message(row: HistoryRow, store: str) -> str:
    """Describe in a sentence how a run (a check or gate) ended."""
    batch = batch_name(row) or "a batch"
    ended = f"{row.decision}, {row.verdict}" if row.decision else row.verdict
    facts = [ended, pluralize(row.counts["conflicts"], "conflict")]
    if row.counts["set_aside"]:
        facts.append(f"{pluralize(row.counts['set_aside'], 'line')} set aside")
    facts += [f"{cause.title} ({cause.count:,})" for cause in row.causes[:NAMED_CAUSES]]
    if (left := len(row.causes) - NAMED_CAUSES) > 0:
        facts.append(pluralize(left, "further cause"))
    if row.reason:
        facts.append(row.reason)
    against = f" against {store}" if store else ""
    return f"shiq {row.command} of {batch}{against}: {'; '.join(facts)}"


def post_alert(address: str, row: HistoryRow, store: str) -> str:
    """Post to a webhook how a run ended, for `POST_SECONDS` seconds at most. Returns why that
    failed, without the secret address, or an empty text.
    """
    answers: list[str] = []
    thread = threading.Thread(
        target=lambda: answers.append(_post_payload(address, row, store)), daemon=True
    )
    thread.start()
    thread.join(POST_SECONDS)
    late = f"the webhook at {urlsplit(address).hostname} did not answer within {POST_SECONDS:g} s"
    return answers[0] if answers else late


def _post_payload(address: str, row: HistoryRow, store: str) -> str:
    """Post a message to a webhook. Returns why that failed, without the secret address, or an empty
    text.
    """
    # Loaded where there is something to post.
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request

    from shiq.remote.web import send_request

    host = urlsplit(address).hostname or ""
    content = json.dumps(_alert_json(host, row, store)).encode()
    request = Request(address, content, {"Content-Type": "application/json"}, method="POST")
    try:
        with send_request(request, POST_SECONDS):
            return ""
    except HTTPError as error:
        why = f"it answered {error.code}"
    except (OSError, HTTPException, ValueError) as error:
        why = str(getattr(error, "reason", "") or type(error).__name__)
    return f"the webhook at {host} could not be notified: {why}"


def _alert_json(host: str, row: HistoryRow, store: str) -> dict[str, Any]:
    """Make the JSON of an alert about a run: an Adaptive Card for Microsoft Teams, else an object
    with the text and the run.
    """
    text = run_message(row, store)
    if not host.endswith(_CARDS):
        return {"text": text, "store": store, "run": row.to_dict()}
    block = {"type": "TextBlock", "text": text, "wrap": True}
    schema = "http://adaptivecards.io/schemas/adaptive-card.json"
    card = {"$schema": schema, "type": "AdaptiveCard", "version": "1.4", "body": [block]}
    content = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [content]}


def write_metrics(path: str, row: HistoryRow, store: str, exit_code: int) -> str:
    """Write the figures of a run as OpenMetrics. Returns why that failed, or an empty text."""
    try:
        write_atomically(Path(path), metrics_text(row, store, exit_code))
    except ShiqError as error:
        return f"no metrics were written ({error})"
    return ""


def metrics_text(row: HistoryRow, store: str, exit_code: int) -> str:
    """Return the figures of a run in the text form of OpenMetrics."""
    made = datetime.strptime(row.made, TIME).replace(tzinfo=timezone.utc).timestamp()
    figures: Mapping[str, tuple[str, float]] = {
        "exit_code": ("0 consistent, 1 inconsistent, 3 undetermined, 5 split.", exit_code),
        **{name: (f"Of the run: {name.replace('_', ' ')}.", n) for name, n in row.counts.items()},
        "causes": ("Causes of conflicts.", len(row.causes)),
        "leftovers": ("Axioms and assertions left out.", sum(row.leftovers.values())),
        "duration_seconds": ("From the start of the command to its answer.", row.seconds),
        "end_timestamp_seconds": ("When the answer was given.", made),
    }
    labels = f'{{store="{_escape_label(store)}",command="{row.command}"}}'
    lines = []
    for name, (meaning, value) in figures.items():
        full = f"shiq_run_{name}"
        lines += [
            f"# TYPE {full} gauge",
            f"# HELP {full} {meaning}",
            f"{full}{labels} {value:.15g}",
        ]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _escape_label(text: str) -> str:
    """Escape a label's value for OpenMetrics."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
