"""A Kafka broker of one node for tests: ``python -m tests.tools.kafka_broker`` fetches its jars
(43 MB, from a Maven repository).

The jars lie in the folder that $SHIQ_KAFKA_BROKER names, else beside the installed peers.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shiq.errors import OperationalError
from shiq.jobs.evaluation.peers.install import read_jar_list
from shiq.reasoner.external import external_reasoners_home
from tests.tools.jars import fetched

SETTING = "SHIQ_KAFKA_BROKER"
_JARS = Path(__file__).with_suffix(".txt")
_SECONDS = 60.0
_PROPERTIES = """process.roles=broker,controller
node.id=1
listeners={protocol}://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={protocol}://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={logs}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.ms=-1
"""
#: What more a broker has that asks the user ``me`` for a password.
_PASSWORD = """listener.security.protocol.map=SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
security.inter.broker.protocol=SASL_PLAINTEXT
sasl.mechanism.inter.broker.protocol=PLAIN
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
  username="me" password="{password}" user_me="{password}";
"""


def jars() -> Path:
    """The folder with the broker's jars."""
    return Path(os.environ.get(SETTING) or external_reasoners_home() / "kafka-broker")


def absent() -> str:
    """Why there can be no broker here; "" where there can."""
    if shutil.which("java") is None:
        return "there is no java"
    missing = [
        jar.name for jar in read_jar_list(_JARS, "kafka") if not (jars() / jar.name).is_file()
    ]
    return (
        f"{jars()} lacks {missing[0]}: python -m tests.tools.kafka_broker fetches it"
        if missing
        else ""
    )


@contextmanager
def broker(folder: Path, password: str = "") -> Iterator[str]:
    """Runs a broker that keeps its data in ``folder``; gives its address. With a ``password`` it
    lets in the user ``me`` alone.

    Raises: OperationalError where it does not start.
    """
    port, controller = _free(), _free()
    properties = folder / "server.properties"
    protocol = "SASL_PLAINTEXT" if password else "PLAINTEXT"
    text = _PROPERTIES.format(
        protocol=protocol, port=port, controller=controller, logs=folder / "logs"
    )
    properties.write_text(text + (_PASSWORD.format(password=password) if password else ""))
    java = ["java", "-Xmx256m", "-cp", f"{jars()}/*"]
    cluster = uuid.uuid4().hex[:22]
    subprocess.run(
        [*java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)],
        check=True,
        capture_output=True,
    )
    with (
        open(folder / "log", "wb") as log,
        subprocess.Popen(
            [*java, "kafka.Kafka", str(properties)], stdout=log, stderr=log
        ) as process,
    ):
        try:
            _wait(port, process, folder / "log")
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()


def _free() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise OperationalError(
        f"the broker does not start: {log.read_text(errors='replace')[-500:]}", "Look at its log."
    )


if __name__ == "__main__":
    sys.exit(fetched(read_jar_list(_JARS, "kafka"), jars(), "Kafka's broker"))
