"""What `--source-option KEY=VALUE` says of the topics that are read, for the client of either
engine.

Keys are those of Spark's connector: ``kafka.NAME`` is a setting of the client, any other says
how much is read, from where. The two clients have most settings in common. User and password,
and a file of authorities, have each their own names in Java; both are understood by both
engines. A secret may stand in a variable or a file, and is in nothing that is shown or written.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shiq.errors import InputError, UsageError

#: Whose values are never shown.
SECRET: Final = "(?i)password|jaas|secret|token|keystore[.]key|key[.]pem"
_IS_SECRET: Final = re.compile(SECRET)
_STARTS: Final = "startingOffsets"
#: What is for Spark alone; all but `_DELAY` are numbers.
_DELAY: Final = "maxTriggerDelay"
_OF_SPARK: Final = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    _DELAY,
    "minPartitions",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
)
_CLIENT: Final = "kafka."
#: What sources and checkpoints decide, and what to say instead.
_OWN: Final = {
    "kafka.bootstrap.servers": "Name brokers in the source: kafka://HOST:PORT,HOST:PORT/TOPIC.",
    "kafka.auto.offset.reset": f"Say --source-option {_STARTS}=earliest, latest, or JSON.",
    "kafka.enable.auto.commit": "A checkpoint keeps offsets: --checkpoint DIR.",
    "kafka.enable.partition.eof": "Without --follow a topic is read to its end.",
    "kafka.sasl.mechanisms": "Say kafka.sasl.mechanism, which both engines know.",
}
_USER, _PASSWORD, _JAAS = "sasl.username", "sasl.password", "sasl.jaas.config"
_AUTHORITIES: Final = "ssl.ca.location"
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_LOGIN: Final = re.compile(r'(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')
#: In what Spark's connector takes, the first and the next offset of a partition.
EARLIEST: Final = -2
LATEST: Final = -1


@dataclass(frozen=True)
class KafkaOptions:
    """Settings by key, with their secrets; these are in no text of it."""

    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def changing(self) -> dict[str, str]:
        """Those that change rows, for a checkpoint."""
        return {
            f"--source-option {key}": self.settings[key]
            for key in (_STARTS, "kafka.isolation.level")
            if key in self.settings
        }

    def hide(self, text: str) -> str:
        """``text`` without the secrets."""
        secrets = {value for key, value in self.settings.items() if _IS_SECRET.search(key)}
        secrets |= {login["password"] for login in map(_login, secrets) if "password" in login}
        secrets |= {*map(_escaped, secrets)}
        for secret in sorted(secrets - {""}, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def starts(self, topic: str) -> int | dict[int, int]:
        """Where ``topic`` is read from: `EARLIEST`, `LATEST`, or an offset (or one of these) for
        each partition.

        Raises: UsageError.
        """
        text = self.settings.get(_STARTS, "earliest")
        if text.lower() in ("earliest", "latest"):
            return EARLIEST if text.lower() == "earliest" else LATEST
        try:
            return {
                int(partition): int(offset) for partition, offset in json.loads(text)[topic].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(
                f"{_STARTS} {text} does not say where {topic} is read from",
                f'Write earliest, latest, or all of its partitions: {{"{topic}": {{"0": 17, "1": {EARLIEST}}}}}.',
            ) from None

    def for_process(self) -> dict[str, str]:
        """The settings of the client in this process (librdkafka). Raises: UsageError for what
        Spark alone knows.
        """
        found = self._client()
        idle = next((key for key in self.settings if key in _OF_SPARK), None)
        if idle is not None:
            raise UsageError(
                f"--source-option {idle} is for Spark alone", "Leave it out, or say --engine spark."
            )
        jaas = found.pop(_JAAS, None)
        if jaas is None:
            return found
        login = _login(jaas)
        if not ({_PLAIN, _SCRAM} & set(jaas.split()) and login.keys() == {"username", "password"}):
            raise UsageError(
                f"one process reads user and password of kafka.{_JAAS}, and nothing else",
                f"Give kafka.{_USER} and kafka.{_PASSWORD}, or what librdkafka has for your mechanism.",
            )
        return {**found, _USER: login["username"], _PASSWORD: login["password"]}

    def for_spark(self, topic: str) -> dict[str, str]:
        """The options of Spark's reader of ``topic``. Raises: UsageError for what cannot be said
        to Java.
        """
        client, starts = self._client(), self.starts(topic)
        user, password, authorities = (
            client.pop(key, None) for key in (_USER, _PASSWORD, _AUTHORITIES)
        )
        if user is not None and password is not None:
            client[_JAAS] = _jaas(client.get("sasl.mechanism", "").upper(), user, password)
        if authorities is not None:
            client |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": authorities}
        found = {key: value for key, value in self.settings.items() if not key.startswith(_CLIENT)}
        if isinstance(starts, dict):
            found[_STARTS] = json.dumps(
                {topic: {str(partition): offset for partition, offset in starts.items()}}
            )
        return {**found, **{f"{_CLIENT}{key}": value for key, value in client.items()}}

    def _client(self) -> dict[str, str]:
        found = {
            key.removeprefix(_CLIENT): value
            for key, value in self.settings.items()
            if key.startswith(_CLIENT)
        }
        if (_USER in found) != (_PASSWORD in found):
            raise UsageError(f"kafka.{_USER} and kafka.{_PASSWORD} go together", "Give both.")
        return found


#: A topic on a broker that asks for nothing, from its beginning.
NO_OPTIONS: Final = KafkaOptions()


def read_options(texts: Iterable[str]) -> KafkaOptions:
    """The options that ``texts`` say, each ``KEY=VALUE``; a secret may be ``env:NAME`` or
    ``file:PATH``.

    Raises: UsageError, which shows no value; InputError for a file that cannot be read.
    """
    found = dict[str, str]()
    for text in texts:
        given, sign, value = text.partition("=")
        if not sign:
            raise UsageError("--source-option has no =", "Write --source-option KEY=VALUE.")
        key = _key(given.strip())
        if key in found:
            raise UsageError(f"--source-option {key} is given twice", "Give it once.")
        found[key] = _secret(key, value) if _IS_SECRET.search(key) else value
        if key in _OF_SPARK and key != _DELAY and not re.fullmatch("[1-9][0-9]*", value):
            raise UsageError(
                f"--source-option {key}={value}: not a number from 1 on",
                f"Write --source-option {key}=200000.",
            )
    return KafkaOptions(found)


def _key(given: str) -> str:
    """The key as the connector writes it; it and Spark take no notice of case."""
    lower, known = given.lower(), {key.lower(): key for key in (_STARTS, *_OF_SPARK)}
    if remedy := _OWN.get(lower):
        raise UsageError(f"--source-option {given} is not yours to set", remedy)
    if lower.startswith(_CLIENT) and lower != _CLIENT:
        return lower
    if lower not in known:
        near = difflib.get_close_matches(lower, [*known, f"{_CLIENT}{lower}"], 1, 0)[0]
        shown = known.get(near, near)
        raise UsageError(
            f"--source-option {given} is not known",
            f"Did you mean {shown}? Settings of the client begin with {_CLIENT}",
        )
    return known[lower]


def _secret(key: str, value: str) -> str:
    kind, _, name = value.partition(":")
    if kind == "env":
        if name not in os.environ:
            raise UsageError(
                f"--source-option {key}: there is no variable {name}", f"Set it: export {name}=…"
            )
        return os.environ[name]
    if kind != "file":
        return value
    try:
        return Path(name).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        raise InputError(
            f"--source-option {key}: {name} cannot be read", "Check the path and its permissions."
        ) from error


def _jaas(mechanism: str, user: str, password: str) -> str:
    """What Java's client logs in by."""
    if mechanism != "PLAIN" and not mechanism.startswith("SCRAM-"):
        raise UsageError(
            f"kafka.{_USER} and kafka.{_PASSWORD} are for the mechanisms PLAIN and SCRAM",
            f"Say --source-option kafka.sasl.mechanism=PLAIN or SCRAM-SHA-512; for others give kafka.{_JAAS}.",
        )
    module = _PLAIN if mechanism == "PLAIN" else _SCRAM
    return f'{module} required username="{_escaped(user)}" password="{_escaped(password)}";'


def _login(jaas: str) -> dict[str, str]:
    """User and password of what Java's client logs in by."""
    return {name: re.sub(r"\\(.)", r"\1", value) for name, value in _LOGIN.findall(jaas)}


def _escaped(text: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", text)
