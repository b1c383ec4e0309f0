"""The OWL API and HermiT, call by call, over the py4j that pyspark brings: for tests of what has no
place in the product's driver.
"""

from __future__ import annotations

import importlib.util
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from shiq.reasoner.jvm import find_hermit

T = TypeVar("T")


class NoAnswer(Exception):
    """Java threw, or took too long."""


def is_there() -> bool:
    """Whether there are Java, the jars and pyspark."""
    packages = ("owlready2", "pyspark")
    return shutil.which("java") is not None and all(map(importlib.util.find_spec, packages))


class OwlApi:
    """A JVM with owlready2's HermiT on its class path; ``view`` has its packages."""

    def __init__(self, heap: str = "1g") -> None:
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # type: ignore[import-untyped]

        spark = importlib.util.find_spec("pyspark")
        assert spark is not None and spark.origin is not None
        (jar,) = (Path(spark.origin).parent / "jars").glob("py4j*.jar")
        port, token, self.process = launch_gateway(
            jarpath=str(jar),
            classpath=find_hermit().jars[0],
            javaopts=[f"-Xmx{heap}", "-Xss16m", "-XX:+UseSerialGC"],
            die_on_exit=True,
            enable_auth=True,
            return_proc=True,
        )
        self.gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auth_token=token)
        )
        self.view: Any = self.gateway.jvm

    @property
    def api(self) -> Any:
        return self.view.org.semanticweb.owlapi

    def call(self, question: Callable[[], T], seconds: float = 60.0) -> T:
        """What ``question``, a series of Java calls, returns. Raises NoAnswer; the JVM is killed
        where it takes longer than ``seconds``.
        """
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        try:
            answer = question()
        except Py4JError as error:
            raise NoAnswer(str(error).strip()) from None
        finally:
            timer.cancel()
        if self.process.poll() is not None:
            raise NoAnswer("the JVM was killed")
        return answer

    def manager(self) -> Any:
        return self.api.apibinding.OWLManager.createOWLOntologyManager()

    def parser(self) -> Any:
        """The parser of functional-style syntax itself, not a manager's search for one."""
        return self.view.org.coode.owlapi.functionalparser.OWLFunctionalSyntaxOWLParser()

    def close(self) -> None:
        self.gateway.shutdown()
        self.process.kill()
        self.process.wait()
