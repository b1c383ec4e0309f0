"""Kafka topics as sources and sinks (extra ``kafka``: confluent-kafka), and their
``--source-option``.

``--source-option KEY=VALUE`` configures the topics that are read, with the keys of Spark's
connector. ``kafka.NAME`` is a setting of the Kafka client; other keys say where reading starts and
how much is read.

Both clients, librdkafka and Java's, share most settings. User, password and certificate file have
different names in Java and are translated. A secret may come from a variable or a file, and is
never shown or written.
"""

from __future__ import annotations

import difflib
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

from shiq.errors import OperationalError, UsageError
from shiq.files import resolve_secret
from shiq.streams.front.event import Record

#: Whose values are never shown.
SECRET: Final = "(?i)password|jaas|secret|token|keystore[.]key|key[.]pem"
_IS_SECRET: Final = re.compile(SECRET)
_STARTING_OFFSETS: Final = "startingOffsets"
#: What is for Spark alone; all but `_MAX_TRIGGER_DELAY` are numbers.
_MAX_TRIGGER_DELAY: Final = "maxTriggerDelay"
_SPARK_KEYS: Final = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    _MAX_TRIGGER_DELAY,
    "minPartitions",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
)
_CLIENT_PREFIX: Final = "kafka."
#: What sources and checkpoints decide, and what to say instead.
_RESERVED_KEYS: Final = {
    "kafka.bootstrap.servers": "Name brokers in the source: kafka://HOST:PORT,HOST:PORT/TOPIC.",
    "kafka.auto.offset.reset": f"Say --source-option {_STARTING_OFFSETS}=earliest, latest, or JSON.",
    "kafka.enable.auto.commit": "A checkpoint keeps offsets: --checkpoint DIR.",
    "kafka.enable.partition.eof": "Without --follow a topic is read to its end.",
    "kafka.sasl.mechanisms": "Say kafka.sasl.mechanism, which both engines know.",
}
_USER, _PASSWORD, _JAAS = "sasl.username", "sasl.password", "sasl.jaas.config"
_AUTHORITIES: Final = "ssl.ca.location"
_PLAIN_LOGIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM_LOGIN: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_LOGIN: Final = re.compile(r'(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')
#: In what Spark's connector takes, the first and the next offset of a partition.
EARLIEST: Final = -2
LATEST: Final = -1


@dataclass(frozen=True)
class KafkaOptions:
    """Options of Kafka sources by key; secrets are left out of their text form."""

    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def checkpoint_settings(self) -> dict[str, str]:
        """Options that change output rows; a checkpoint made with other ones is refused."""
        return {
            f"--source-option {key}": self.settings[key]
            for key in (_STARTING_OFFSETS, "kafka.isolation.level")
            if key in self.settings
        }

    def hide_secrets(self, text: str) -> str:
        """Replace secrets in ``text`` by ``***``."""
        secrets = {value for key, value in self.settings.items() if _IS_SECRET.search(key)}
        secrets |= {
            login["password"] for login in map(_parse_jaas_login, secrets) if "password" in login
        }
        secrets |= {*map(_escape_quotes, secrets)}
        for secret in sorted(secrets - {""}, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def starting_offsets(self, topic: str) -> int | dict[int, int]:
        """Offset at which to begin reading ``topic``, or such offsets by partition; `EARLIEST` and
        `LATEST` stand for the beginning and end.

        Raises: UsageError.
        """
        text = self.settings.get(_STARTING_OFFSETS, "earliest")
        if text.lower() in ("earliest", "latest"):
            return EARLIEST if text.lower() == "earliest" else LATEST
        try:
            return {
                int(partition): int(offset) for partition, offset in json.loads(text)[topic].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(
                f"{_STARTING_OFFSETS} {text} does not say where {topic} is read from",
                f'Write earliest, latest, or all of its partitions: {{"{topic}": {{"0": 17, "1": {EARLIEST}}}}}.',
            ) from None

    def librdkafka_settings(self) -> dict[str, str]:
        """Settings for librdkafka, Kafka's C client, which the local engine uses. Raises:
        UsageError for Spark-only keys.
        """
        found = self._client_settings()
        idle = next((key for key in self.settings if key in _SPARK_KEYS), None)
        if idle is not None:
            raise UsageError(
                f"--source-option {idle} is for Spark alone", "Leave it out, or say --engine spark."
            )
        jaas = found.pop(_JAAS, None)
        if jaas is None:
            return found
        login = _parse_jaas_login(jaas)
        if not (
            {_PLAIN_LOGIN, _SCRAM_LOGIN} & set(jaas.split())
            and login.keys() == {"username", "password"}
        ):
            raise UsageError(
                f"one process reads user and password of kafka.{_JAAS}, and nothing else",
                f"Give kafka.{_USER} and kafka.{_PASSWORD}, or what librdkafka has for your mechanism.",
            )
        return {**found, _USER: login["username"], _PASSWORD: login["password"]}

    def spark_options(self, topic: str) -> dict[str, str]:
        """Options for Spark's Kafka reader of ``topic``.

        Raises: UsageError for settings that Java's client does not have.
        """
        client, starts = self._client_settings(), self.starting_offsets(topic)
        user, password, authorities = (
            client.pop(key, None) for key in (_USER, _PASSWORD, _AUTHORITIES)
        )
        if user is not None and password is not None:
            client[_JAAS] = _jaas_config(client.get("sasl.mechanism", "").upper(), user, password)
        if authorities is not None:
            client |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": authorities}
        found = {
            key: value for key, value in self.settings.items() if not key.startswith(_CLIENT_PREFIX)
        }
        if isinstance(starts, dict):
            found[_STARTING_OFFSETS] = json.dumps(
                {topic: {str(partition): offset for partition, offset in starts.items()}}
            )
        return {**found, **{f"{_CLIENT_PREFIX}{key}": value for key, value in client.items()}}

    def _client_settings(self) -> dict[str, str]:
        """Settings of the Kafka client, without the prefix ``kafka.``."""
        found = {
            key.removeprefix(_CLIENT_PREFIX): value
            for key, value in self.settings.items()
            if key.startswith(_CLIENT_PREFIX)
        }
        if (_USER in found) != (_PASSWORD in found):
            raise UsageError(f"kafka.{_USER} and kafka.{_PASSWORD} go together", "Give both.")
        return found


#: A topic on a broker that asks for nothing, from its beginning.
NO_OPTIONS: Final = KafkaOptions()


def parse_kafka_options(texts: Iterable[str]) -> KafkaOptions:
    """Parse ``KEY=VALUE`` texts as Kafka options; a secret may be ``env:NAME`` or ``file:PATH``.

    Raises: UsageError, which shows no value; InputError for a file that cannot be read.
    """
    found = dict[str, str]()
    for text in texts:
        given, sign, value = text.partition("=")
        if not sign:
            raise UsageError("--source-option has no =", "Write --source-option KEY=VALUE.")
        key = _normalise_key(given.strip())
        if key in found:
            raise UsageError(f"--source-option {key} is given twice", "Give it once.")
        found[key] = (
            resolve_secret(value, f"--source-option {key}") if _IS_SECRET.search(key) else value
        )
        if (
            key in _SPARK_KEYS
            and key != _MAX_TRIGGER_DELAY
            and not re.fullmatch("[1-9][0-9]*", value)
        ):
            raise UsageError(
                f"--source-option {key}={value}: not a number from 1 on",
                f"Write --source-option {key}=200000.",
            )
    return KafkaOptions(found)


def _normalise_key(given: str) -> str:
    """Spell an option key as Spark's connector does; refuse unknown and reserved keys."""
    lower, known = given.lower(), {key.lower(): key for key in (_STARTING_OFFSETS, *_SPARK_KEYS)}
    if remedy := _RESERVED_KEYS.get(lower):
        raise UsageError(f"--source-option {given} is not yours to set", remedy)
    if lower.startswith(_CLIENT_PREFIX) and lower != _CLIENT_PREFIX:
        return lower
    if lower not in known:
        near = difflib.get_close_matches(lower, [*known, f"{_CLIENT_PREFIX}{lower}"], 1, 0)[0]
        shown = known.get(near, near)
        raise UsageError(
            f"--source-option {given} is not known",
            f"Did you mean {shown}? Settings of the client begin with {_CLIENT_PREFIX}",
        )
    return known[lower]


def _jaas_config(mechanism: str, user: str, password: str) -> str:
    """Build the JAAS login configuration of Kafka's Java client."""
    if mechanism != "PLAIN" and not mechanism.startswith("SCRAM-"):
        raise UsageError(
            f"kafka.{_USER} and kafka.{_PASSWORD} are for the mechanisms PLAIN and SCRAM",
            f"Say --source-option kafka.sasl.mechanism=PLAIN or SCRAM-SHA-512; for others give kafka.{_JAAS}.",
        )
    module = _PLAIN_LOGIN if mechanism == "PLAIN" else _SCRAM_LOGIN
    return f'{module} required username="{_escape_quotes(user)}" password="{_escape_quotes(password)}";'


def _parse_jaas_login(jaas: str) -> dict[str, str]:
    """Extract user and password from a JAAS login configuration."""
    return {name: re.sub(r"\\(.)", r"\1", value) for name, value in _LOGIN.findall(jaas)}


def _escape_quotes(text: str) -> str:
    """Escape quotes and backslashes for a JAAS configuration."""
    return re.sub(r'(["\\])', r"\\\1", text)


#: Seconds that a broker is waited for.
_BROKER_TIMEOUT = 30.0
#: The header that names the run of a row.
_RUN_HEADER: Final = "shiq-run"
#: The library would log each attempt to reach a broker; what fails in the end is told once, by us.
_NO_LOGGING: Final[dict[str, Any]] = {"log_level": 0, "error_cb": lambda error: None}


def parse_kafka_address(target: str) -> tuple[str, str]:
    """Split ``kafka://HOST:PORT,HOST:PORT/TOPIC`` into brokers and topic. Raises: UsageError."""
    hosts, _, topic = target.removeprefix("kafka://").partition("/")
    topic = topic.strip("/")
    if "@" in hosts:
        raise UsageError(
            "an address of a topic with a user in it",
            "Say --source-option kafka.sasl.username=… kafka.sasl.password=env:NAME.",
        )
    if not topic or "/" in topic or not all(map(_is_host_and_port, hosts.split(","))):
        raise UsageError(
            f"{target}: not the address of a topic",
            "Write kafka://HOST:PORT/TOPIC, or HOST:PORT,HOST:PORT.",
        )
    return hosts.lower(), topic


def _is_host_and_port(text: str) -> bool:
    """Whether ``text`` has the form HOST:PORT."""
    try:
        found = urlsplit(f"//{text}")
        return bool(found.hostname and found.port) and not (
            found.path or found.query or found.fragment
        )
    except ValueError:
        return False


def _import_confluent_kafka() -> Any:
    """Import confluent_kafka, or raise OperationalError with the install command."""
    try:
        import confluent_kafka  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise OperationalError(
            "Kafka needs the package confluent-kafka", "Install it: pip install 'shiq[kafka]'."
        ) from None
    return confluent_kafka


class KafkaSource:
    """Source that reads a Kafka topic. Its position is the next offset of each partition.

    options: client settings and starting offsets. Raises: UsageError for options that librdkafka
    does not have.
    """

    def __init__(self, broker: str, topic: str, options: KafkaOptions = NO_OPTIONS) -> None:
        self.name, self.broker, self.topic = f"kafka://{broker}/{topic}", broker, topic
        self.options, self.settings, self.starting_offsets = (
            options,
            options.librdkafka_settings(),
            options.starting_offsets(topic),
        )
        self.position: dict[str, int] = {}
        self.refusal = ""

    def read(self, follow: bool) -> Iterator[Record]:
        """Yield the records of the topic; without ``follow`` stop at the offsets where it ends now."""
        kafka = _import_confluent_kafka()
        settings = {
            "bootstrap.servers": self.broker,
            "group.id": "shiq",
            **self.settings,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": not follow,
            **_NO_LOGGING,
            "error_cb": lambda error: self._note_broker_refusal(kafka.KafkaError, error),
        }
        try:
            consumer = kafka.Consumer(settings)
        except kafka.KafkaException as error:
            # Not with its cause, which may show a value.
            raise UsageError(
                f"{self.name}: {self._describe_failure(error)}",
                "Look at what --source-option says.",
            ) from None
        try:
            yield from self._consume_partitions(kafka, consumer, follow)
        except kafka.KafkaException as error:
            consumer.poll(0)  # hears why, if the library knows
            raise OperationalError(
                f"{self.name}: {self._describe_failure(error)}",
                "See that the broker runs, has the topic, and lets you read it.",
            ) from None
        finally:
            consumer.close()

    def _describe_failure(self, error: Any) -> str:
        """Text of a Kafka client error without secrets; if the broker refused login or TLS, that
        refusal.
        """
        return self.options.hide_secrets(self.refusal or error.args[0].str())

    def _note_broker_refusal(self, codes: Any, error: Any) -> None:
        """Remember that the broker refused login or TLS: the later error only says that it does not
        answer.
        """
        if error.code() in (codes._AUTHENTICATION, codes._SSL):
            self.refusal = error.str()

    def _consume_partitions(self, kafka: Any, consumer: Any, follow: bool) -> Iterator[Record]:
        """Consume all partitions of the topic from their start offsets."""
        metadata = consumer.list_topics(self.topic, timeout=_BROKER_TIMEOUT).topics[self.topic]
        if metadata.error is not None:
            raise OperationalError(
                f"{self.name}: {metadata.error.str()}", "Create the topic first."
            )
        ends, assigned, starts = {}, [], self._partition_start_offsets(metadata.partitions)
        for partition in metadata.partitions:
            low, high = _fetch_offset_range(kafka, consumer, self.topic, partition)
            first = {EARLIEST: low, LATEST: high}.get(starts[partition], starts[partition])
            if not low <= first <= high:
                raise OperationalError(
                    f"{self.name}/{partition}: startingOffsets says {first}, and there are {low} to {high}",
                    "Say one of these.",
                )
            at = self.position.get(str(partition), first)
            if at < low:
                raise OperationalError(
                    f"{self.name}/{partition}: the records {at} to {low - 1} were deleted before they were read",
                    "What they said is lost: begin anew without the checkpoint, and let the topic keep its records for longer.",
                )
            self.position[str(partition)] = at
            if at < high:
                ends[partition] = high
            assigned.append(kafka.TopicPartition(self.topic, partition, at))
        consumer.assign(assigned)
        while follow or ends:
            for message in consumer.consume(1000, timeout=0.5):
                partition, offset = message.partition(), message.offset()
                if message.error() is not None:
                    if message.error().code() != kafka.KafkaError._PARTITION_EOF:
                        raise kafka.KafkaException(message.error())
                    # What is left are markers of transactions, which nobody is given.
                    ends.pop(partition, None)
                    continue
                if not follow and partition not in ends:
                    continue
                self.position = {**self.position, str(partition): offset + 1}
                if not follow and offset + 1 >= ends[partition]:
                    del ends[partition]
                yield Record(f"{self.name}/{partition}", offset, message.value() or b"")

    def _partition_start_offsets(self, partitions: Iterable[int]) -> dict[int, int]:
        """Start offset of each partition. A partition that is new since the checkpoint is read from
        its beginning.

        Raises: OperationalError if startingOffsets names other partitions.
        """
        starts = EARLIEST if self.position else self.starting_offsets
        if isinstance(starts, int):
            return dict.fromkeys(partitions, starts)
        if starts.keys() != set(partitions):
            raise OperationalError(
                f"{self.name}: startingOffsets names the partitions {sorted(starts)}, and there are {sorted(partitions)}",
                f"Name each of them once; {EARLIEST} is its first offset, {LATEST} its next.",
            )
        return starts


class KafkaSink:
    """Sink that writes rows to a Kafka topic, each exactly once.

    Each row carries its number as key and the run's id as header. So a resumed run finds rows that
    were sent after its checkpoint and does not send them again.

    saved: row count, run id and end offset of each partition in the checkpoint; None for a new run.
    """

    def __init__(self, broker: str, topic: str, saved: Any = None) -> None:
        self.name, self.broker, self.topic = f"kafka://{broker}/{topic}", broker, topic
        if isinstance(saved, int):
            raise OperationalError(
                f"{self.name}: the checkpoint is of an older version",
                "Go on with that, or begin anew.",
            )
        found = saved or {"rows": 0, "run": uuid4().hex, "ends": {}}
        self.row_count: int = found["rows"]
        self.run_id: str = found["run"]
        self.end_offsets: dict[str, int] = dict(found["ends"])
        settings = {"bootstrap.servers": broker, "enable.idempotence": True, **_NO_LOGGING}
        self.producer = _import_confluent_kafka().Producer(settings)
        self.failures: list[str] = []
        self.sent_rows = {*self._find_sent_rows(is_new=saved is None)}

    def _find_sent_rows(self, *, is_new: bool) -> Iterator[tuple[int, bytes]]:
        """Yield (row number, data) of the rows that this run sent after its checkpoint. For a new
        run, record the topic's end offsets.
        """
        kafka = _import_confluent_kafka()
        settings = {
            "bootstrap.servers": self.broker,
            "group.id": "shiq",
            "enable.auto.commit": False,
            **_NO_LOGGING,
        }
        consumer = kafka.Consumer({**settings, "enable.partition.eof": True})
        try:
            for number in (
                consumer.list_topics(self.topic, timeout=_BROKER_TIMEOUT)
                .topics[self.topic]
                .partitions
            ):
                low, high = _fetch_offset_range(kafka, consumer, self.topic, number)
                at = max(low, self.end_offsets.setdefault(str(number), high if is_new else low))
                if at < high:
                    consumer.assign([kafka.TopicPartition(self.topic, number, at)])
                    yield from self._read_run_rows(kafka, consumer)
        except kafka.KafkaException as error:
            raise OperationalError(
                f"{self.name}: {error.args[0].str()}", "See that the broker runs."
            ) from error
        finally:
            consumer.close()

    def _read_run_rows(self, kafka: Any, consumer: Any) -> Iterator[tuple[int, bytes]]:
        """Yield (row number, data) of this run's rows up to the end of the assigned partition."""
        while (message := consumer.poll(_BROKER_TIMEOUT)) is not None:
            if message.error() is None:
                if (_RUN_HEADER, self.run_id.encode()) in (message.headers() or ()):
                    yield int(message.key()), message.value()
            elif message.error().code() == kafka.KafkaError._PARTITION_EOF:
                return
            else:
                raise kafka.KafkaException(message.error())
        raise OperationalError(
            f"{self.name}: the broker does not answer", "See that the broker runs."
        )

    def write(self, rows: Sequence[str]) -> None:
        """Send rows to the topic, except those that it already has."""
        for row in rows:
            key, data, headers = (
                str(self.row_count).encode(),
                row.encode(),
                [(_RUN_HEADER, self.run_id.encode())],
            )
            # What comes again of a source that nothing can read twice may be another row of the
            # same number.
            while (self.row_count, data) not in self.sent_rows:
                try:
                    self.producer.produce(
                        self.topic, data, key=key, headers=headers, on_delivery=self._note_delivery
                    )
                    break
                except BufferError:
                    self.producer.poll(0.1)
            self.row_count += 1
        self.producer.poll(0)

    def _note_delivery(self, error: Any, message: Any) -> None:
        """Callback of the producer: record the end offset of a delivered row, or its failure."""
        if error is not None:
            self.failures.append(error.str())
        else:
            end = str(message.partition())
            self.end_offsets[end] = max(self.end_offsets.get(end, 0), message.offset() + 1)

    def flush(self) -> dict[str, Any]:
        """Wait until all rows are delivered. Return the number of rows so far, run id and end
        offsets for the checkpoint. Raises: OperationalError.
        """
        if self.producer.flush(_BROKER_TIMEOUT) or self.failures:
            why = self.failures[0] if self.failures else "the broker does not answer"
            raise OperationalError(f"{self.name}: {why}", "See that the broker runs.")
        return {"rows": self.row_count, "run": self.run_id, "ends": dict(self.end_offsets)}

    def close(self) -> None:
        """Wait until all rows are delivered. Raises: OperationalError."""
        self.flush()


def _fetch_offset_range(kafka: Any, consumer: Any, topic: str, partition: int) -> tuple[int, int]:
    """First offset of a partition, and the offset of its next message; retried while a new topic
    has no leader.
    """
    end = time.monotonic() + _BROKER_TIMEOUT
    while True:
        try:
            low, high = consumer.get_watermark_offsets(
                kafka.TopicPartition(topic, partition), timeout=_BROKER_TIMEOUT
            )
            return low, high
        except kafka.KafkaException as error:
            codes = kafka.KafkaError
            leaderless = (codes.LEADER_NOT_AVAILABLE, codes.NOT_LEADER_FOR_PARTITION)
            may_pass = error.args[0].retriable() or error.args[0].code() in leaderless
            if not may_pass or time.monotonic() > end:
                raise
            time.sleep(0.2)
