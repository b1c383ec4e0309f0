"""A py4j client that does not hide failures.

py4j's own repeats a command whose answer was lost, does not notice an incomplete answer (half a
"true" reads as False), and logs tracebacks on the root logger.
"""

from __future__ import annotations

import os
import socket
import weakref
from collections import deque

from py4j import protocol  # type: ignore[import-untyped]
from py4j.java_gateway import (  # type: ignore[import-untyped]
    GatewayClient,
    GatewayConnection,
    GatewayParameters,
    GatewayProperty,
)
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]


class Connection(GatewayConnection):  # type: ignore[misc]
    """A socket to the JVM; whatever goes wrong on it is a Py4JNetworkError, and nothing is logged."""

    def start(self) -> None:
        try:
            self.socket.connect((self.address, self.port))
            self.stream = self.socket.makefile("rb")
            self.is_connected = True
            self._authenticate_connection()
        except OSError as error:
            raise Py4JNetworkError("cannot connect to the JVM", error) from error

    def send_command(self, command: str) -> str:
        try:
            self.socket.sendall(command.encode("utf-8"))
            line = self.stream.readline()
        except (OSError, ValueError) as error:
            raise Py4JNetworkError("the connection to the JVM broke", error) from error
        if not line.endswith(b"\n"):
            raise Py4JNetworkError("the JVM's answer is incomplete")
        answer: str = line[:-1].decode("utf-8", "replace")
        return answer[1:] if answer.startswith(protocol.RETURN_MESSAGE) else answer

    def send_off(self, commands: str) -> None:
        """Commands whose answers nobody needs: those that have come by now are thrown away."""
        try:
            self.socket.sendall(commands.encode("utf-8"))
            while self.socket.recv(65536, socket.MSG_DONTWAIT):
                pass
        except BlockingIOError:
            pass
        except OSError as error:
            raise Py4JNetworkError("the connection to the JVM broke", error) from error


class Client(GatewayClient):  # type: ignore[misc]
    """One attempt for each command.

    Java objects that Python forgot are given up with the next command, on a connection of its
    own and without waiting: a finaliser may run anywhere, and must not wait for a JVM. Every
    socket is remembered: a forked child closes its copies.
    """

    def __init__(self, parameters: GatewayParameters) -> None:
        super().__init__(
            gateway_parameters=parameters, gateway_property=GatewayProperty(False, None, True)
        )
        self.converters = None
        self.connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self.forgotten: deque[str] = deque()
        self._disposal: Connection | None = None

    def garbage_collect_object(self, target_id: str) -> None:
        self.forgotten.append(target_id)

    def _create_connection(self) -> Connection:
        connection = Connection(self.gateway_parameters, self.gateway_property)
        self.connections.add(connection)
        connection.start()
        return connection

    def send_command(self, command: str, retry: bool = True, binary: bool = False) -> str:
        connection = self._get_connection()
        try:
            self._dispose()
            answer: str = connection.send_command(command)
        except BaseException:
            connection.close()
            raise
        self._give_back_connection(connection)
        return answer

    def _dispose(self) -> None:
        commands = []
        while self.forgotten:
            target = self.forgotten.popleft()
            commands.append(
                f"{protocol.MEMORY_COMMAND_NAME}{protocol.MEMORY_DEL_SUBCOMMAND_NAME}{target}\ne\n"
            )
        if commands:
            if self._disposal is None:
                self._disposal = self._create_connection()
            self._disposal.send_off("".join(commands))

    def let_go(self) -> None:
        """Drops this process's copies of the sockets without a word to the JVM."""
        self.is_connected = False
        for connection in list(self.connections):
            descriptor = connection.socket.detach()
            if descriptor >= 0:
                os.close(descriptor)
