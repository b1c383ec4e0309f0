"""What `--source-option` hands to the clients of both engines, and that secrets are shown nowhere."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shiq.errors import InputError, OperationalError, UsageError
from shiq.streams.front.kafka import (
    KafkaOptions,
    KafkaSource,
    parse_kafka_address,
    parse_kafka_options,
)
from tests.command_line import shiq

SASL = (
    "kafka.security.protocol=SASL_SSL",
    "kafka.sasl.mechanism=SCRAM-SHA-512",
    "kafka.sasl.username=me",
)
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="a\\"b\\\\c";'


def test_user_and_password_are_handed_to_both_clients_as_each_knows_them() -> None:
    options = parse_kafka_options(
        (
            *SASL,
            'KAFKA.sasl.password=a"b\\c',
            "kafka.ssl.ca.location=/etc/ca.pem",
            "STARTINGOFFSETS=latest",
        )
    )
    shared = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}
    assert options.librdkafka_settings() == shared | {
        "sasl.username": "me",
        "sasl.password": 'a"b\\c',
        "ssl.ca.location": "/etc/ca.pem",
    }
    login = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="a\\"b\\\\c";'
    assert options.spark_options("t") == {
        f"kafka.{key}": value for key, value in shared.items()
    } | {
        "startingOffsets": "latest",
        "kafka.sasl.jaas.config": login,
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": "/etc/ca.pem",
    }
    jaas = parse_kafka_options(("kafka.sasl.mechanism=PLAIN", f"kafka.sasl.jaas.config={JAAS}"))
    assert jaas.librdkafka_settings() == {
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": 'a"b\\c',
    }
    assert jaas.spark_options("t")["kafka.sasl.jaas.config"] == JAAS


def test_topics_are_begun_where_it_is_said() -> None:
    options = parse_kafka_options(
        ('startingOffsets={"a": {"0": 7, "1": -2}, "b": {"0": -1}}', "maxOffsetsPerTrigger=500")
    )
    assert options.starting_offsets("a") == {0: 7, 1: -2}
    assert json.loads(options.spark_options("b")["startingOffsets"]) == {"b": {"0": -1}}
    assert options.spark_options("a")["maxOffsetsPerTrigger"] == "500"
    assert options.checkpoint_settings == {
        "--source-option startingOffsets": '{"a": {"0": 7, "1": -2}, "b": {"0": -1}}'
    }
    with pytest.raises(UsageError, match="c is read from"):
        options.starting_offsets("c")
    with pytest.raises(UsageError, match="for Spark alone"):
        options.librdkafka_settings()


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("startingOffset=latest",), "Did you mean startingOffsets?"),
        (("sasl.password=hunter2",), "Did you mean kafka.sasl.password?"),
        (("subscribe=t",), "is not known"),
        (("kafka.bootstrap.servers=h:1",), "kafka://HOST:PORT,HOST:PORT/TOPIC"),
        (("kafka.auto.offset.reset=latest",), "startingOffsets"),
        (("hunter2",), "KEY=VALUE"),
        (("kafka.client.id=a", "kafka.CLIENT.id=b"), "twice"),
        (("maxOffsetsPerTrigger=0",), "from 1 on"),
        (("kafka.sasl.password=env:SHIQ_IS_NOT_SET",), "export SHIQ_IS_NOT_SET"),
    ],
)
def test_what_would_do_nothing_is_refused(texts: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_kafka_options(texts)
    assert said in str(refused.value) and "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "texts",
    [
        ("kafka.sasl.username=me",),
        ("kafka.sasl.username=me", "kafka.sasl.password=p", "kafka.sasl.mechanism=GSSAPI"),
    ],
)
def test_what_cannot_be_said_to_java_is_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        parse_kafka_options(texts).spark_options("t")


def test_secrets_come_from_variables_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "hunter2")
    (tmp_path / "secret").write_text("hunter3\n")
    given = (
        "kafka.sasl.password=env:KAFKA_PASSWORD",
        f"kafka.ssl.keystore.password=file:{tmp_path}/secret",
        "kafka.client.id=env:X",
    )
    options = parse_kafka_options((*SASL, *given))
    settings = options.librdkafka_settings()
    assert [settings[key] for key in ("sasl.password", "ssl.keystore.password", "client.id")] == [
        "hunter2",
        "hunter3",
        "env:X",
    ]
    assert "hunter" not in repr(options) and "hunter" not in str(options.checkpoint_settings)
    with pytest.raises(InputError, match="gone cannot be read"):
        parse_kafka_options((f"kafka.sasl.password=file:{tmp_path}/gone",))


@pytest.mark.parametrize(
    "key",
    ["sasl.password", "sasl.jaas.config", "sasl.oauthbearer.client.SECRET", "Token", "ssl.key.pem"],
)
def test_no_text_shows_a_secret(key: str) -> None:
    value = JAAS if "jaas" in key else 'a"b\\c'
    options = parse_kafka_options((f"kafka.{key}={value}", "kafka.client.id=seen"))
    shown = options.hide_secrets(f'seen {value} and a"b\\c and a\\"b\\\\c')
    assert "seen" in shown and "a" not in shown.replace("seen", "").replace("and", "")


@pytest.mark.parametrize(
    ("address", "broker"),
    [
        ("kafka://h1:9092,H2:9093/t", "h1:9092,h2:9093"),
        ("kafka://[::1]:9092/t", "[::1]:9092"),
        ("kafka://h:1/t/", "h:1"),
    ],
)
def test_several_brokers_are_named(address: str, broker: str) -> None:
    assert parse_kafka_address(address) == (broker, "t")


@pytest.mark.parametrize(
    "address",
    ["kafka://h1:9092,h2/t", "kafka://h:1,/t", "kafka://h:x/t", "kafka://h:1", "kafka:///t"],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT,HOST:PORT"):
        parse_kafka_address(address)


def test_a_password_in_an_address_is_refused_unseen() -> None:
    with pytest.raises(UsageError) as refused:
        parse_kafka_address("kafka://me:hunter2@h:1/t")
    assert "hunter2" not in str(refused.value)


# --- one process: what the library is given -------------------------------------------------------


class Library:
    """What `shiq.streams.front.kafka` needs of its library: a topic of two partitions that has the
    offsets 10 to 20.
    """

    class KafkaException(Exception):
        """Has an error as its argument."""

    class KafkaError:
        _PARTITION_EOF = -191

    def __init__(self, problem: str = "") -> None:
        self.problem, self.assigned = problem, list[tuple[int, int]]()

    def Consumer(self, settings: dict[str, Any]) -> Library:
        self.settings = settings
        if self.problem:
            library = self

            class Error:
                def str(self) -> str:
                    return library.problem

            raise self.KafkaException(Error())
        return self

    def TopicPartition(self, topic: str, partition: int, at: int = 0) -> tuple[int, int]:
        return partition, at

    def list_topics(self, topic: str, timeout: float) -> Any:
        return type(
            "M",
            (),
            {"topics": {topic: type("T", (), {"error": None, "partitions": {0: None, 1: None}})}},
        )

    def get_watermark_offsets(self, partition: Any, timeout: float) -> tuple[int, int]:
        return 10, 20

    def assign(self, partitions: list[tuple[int, int]]) -> None:
        self.assigned = partitions

    def consume(self, *_: Any, **__: Any) -> Any:
        raise StopIteration

    def close(self) -> None:
        """Nothing."""


def reading(
    monkeypatch: pytest.MonkeyPatch, options: KafkaOptions, position: Any = None, problem: str = ""
) -> Library:
    library = Library(problem)
    monkeypatch.setattr("shiq.streams.front.kafka._import_confluent_kafka", lambda: library)
    source = KafkaSource("h:1", "t", options)
    source.position = position or {}
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(source.read(True))
    return library


def test_the_client_of_one_process_has_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = reading(
        monkeypatch, parse_kafka_options((*SASL, "kafka.sasl.password=p", "kafka.group.id=mine"))
    ).settings
    assert (
        settings["sasl.username"] == "me"
        and settings["sasl.password"] == "p"
        and settings["group.id"] == "mine"
    )
    assert settings["bootstrap.servers"] == "h:1" and settings["enable.auto.commit"] is False
    assert "group.id" in reading(monkeypatch, parse_kafka_options(())).settings


@pytest.mark.parametrize(
    ("starts", "position", "at"),
    [
        ("earliest", None, [10, 10]),
        ("latest", None, [20, 20]),
        ('{"t": {"0": 12, "1": -1}}', None, [12, 20]),
        ("latest", {"0": 15}, [15, 10]),  # a partition that is new in a run that goes on
    ],
)
def test_one_process_begins_there(
    starts: str, position: Any, at: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = reading(monkeypatch, parse_kafka_options((f"startingOffsets={starts}",)), position)
    assert library.assigned == [*enumerate(at)]


@pytest.mark.parametrize(
    ("starts", "said"),
    [('{"t": {"0": 12}}', r"there are \[0, 1\]"), ('{"t": {"0": 9, "1": 10}}', "10 to 20")],
)
def test_one_process_refuses_to_begin_elsewhere(
    starts: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiq.streams.front.kafka._import_confluent_kafka", Library)
    with pytest.raises(OperationalError, match=said):
        list(
            KafkaSource("h:1", "t", parse_kafka_options((f"startingOffsets={starts}",))).read(False)
        )


def test_a_setting_that_the_library_refuses_shows_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = "x".join("abc")
    options = parse_kafka_options((*SASL, f"kafka.sasl.password={secret}"))
    with pytest.raises(UsageError, match=r"refused \*\*\*") as refused:
        reading(monkeypatch, options, problem=f"refused {secret}")
    assert secret not in "".join(traceback.format_exception(refused.value))


# --- Spark: what its reader is given --------------------------------------------------------------


class Reader:
    """Of a session what `shiq.jobs.streaming.sources` needs, and what it is told."""

    def __init__(self, known: tuple[str, ...]) -> None:
        self.readStream, self.told = self, list[dict[str, str]]()
        names = type("C", (), {"configNames": staticmethod(lambda: known)})
        self._jvm = self._space(
            org=self._space(apache=self._space(kafka=self._space(clients=self._space())))
        )
        self._jvm.org.apache.kafka.clients.consumer = self._space(ConsumerConfig=names)

    @staticmethod
    def _space(**names: Any) -> Any:
        return type("Space", (), names)()

    def format(self, name: str) -> Reader:
        assert name == "kafka"
        return self

    def options(self, **told: str) -> Reader:
        self.told.append(told)
        return self

    def load(self) -> Reader:
        return self

    def select(self, *_: Any) -> Reader:
        return self


def test_sparks_reader_has_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    from shiq.jobs.streaming import sources

    monkeypatch.setattr(
        sources, "lit", lambda value: type("L", (), {"alias": lambda self, name: value})()
    )
    known = ("security.protocol", "sasl.mechanism", "sasl.jaas.config", "fetch.max.bytes")
    options = parse_kafka_options(
        (*SASL, "kafka.sasl.password=p", "kafka.fetch.max.bytes=99", "maxOffsetsPerTrigger=7")
    )
    for given in (KafkaOptions(), options):
        reader: Any = Reader(known)
        sources.message_stream(reader, ["kafka://h:1,i:2/t"], given)
        (told,) = reader.told
        assert told["kafka.bootstrap.servers"] == "h:1,i:2" and told["subscribe"] == "t"
        assert told["startingOffsets"] == "earliest"
        assert told["maxOffsetsPerTrigger"] == ("7" if given.settings else "200000")
    assert (
        told["kafka.fetch.max.bytes"] == "99" and 'password="p"' in told["kafka.sasl.jaas.config"]
    )
    reader = Reader(known)
    with pytest.raises(UsageError, match=r"kafka\.fetch\.max\.bytes\?"):
        sources.message_stream(
            reader, ["kafka://h:1/t"], parse_kafka_options(("kafka.fetch.max.byte=9",))
        )
    assert not reader.told


@pytest.mark.parametrize(("password", "is_shown"), [("in the plan", False), ("elsewhere", True)])
def test_an_error_of_spark_that_shows_a_secret_is_not_passed_on(
    password: str, is_shown: bool
) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    from pyspark.errors import PySparkException

    from shiq.jobs.streaming.stateful_run import StatefulRun

    class Failing(StatefulRun):
        def _check_start(self) -> None:
            """Nothing is kept."""

        def _start_query(self, *_: Any) -> Any:
            raise PySparkException(
                "no topic t\nLogical Plan: password is " + " ".join(("in", "the", "plan"))
            )

    context = SimpleNamespace(broadcast=lambda _: SimpleNamespace(destroy=lambda: None))
    given: Any = SimpleNamespace(sparkContext=context, saved_content=None, checkpoint=None)
    options = parse_kafka_options(
        (
            *(setting for setting in SASL if "password" not in setting),
            f"kafka.sasl.password={password}",
        )
    )
    failing = Failing(given, None, None, given, ["kafka://h:1/t"], options=options)
    with pytest.raises(OperationalError, match="no topic t") as failed:
        failing.drive()
    assert ("in the plan" in "".join(traceback.format_exception(failed.value))) is is_shown


# --- the commands ---------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_command_refuses_options_before_it_touches_anything(engine: str, tmp_path: Path) -> None:
    (tmp_path / "o.ofn").write_text("Ontology(<urn:o> SubClassOf(<urn:A> <urn:B>))")
    (tmp_path / "e").write_text("")
    (tmp_path / "out").write_text("kept")
    common = (
        "stream",
        "consistency",
        "-t",
        "o.ofn",
        "-w",
        "1",
        "--out",
        "out",
        "--engine",
        engine,
        "-v",
    )
    for source, option, said in (
        ("e", "startingOffsets=latest", "about topics"),
        ("kafka://h:1/t", 'startingOffsets={"u": {"0": 1}}', "where t is read from"),
        ("kafka://h:1/t", "kafka.sasl.username=me", "go together"),
        ("kafka://h:1/t", "sasl.password=hunter2", "Did you mean kafka.sasl.password?"),
    ):
        done = shiq(*common, "--source", source, "--source-option", option, cwd=tmp_path)
        assert done.returncode == 2 and said in done.stderr and "hunter2" not in done.stderr
    assert (tmp_path / "out").read_text() == "kept"
