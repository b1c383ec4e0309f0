"""The service as tools of the Model Context Protocol, over standard input and output."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server import MCPServer

from shiq.jobs.serving.service import Document, Service, TextBatch


def make_server(service: Service) -> MCPServer[Any]:
    """Make the server of the Model Context Protocol. Each of its tools is one kind of request to
    ``service``.
    """
    server: MCPServer[Any] = MCPServer(
        "shiq", instructions="Check whether triples keep a knowledge graph logically consistent."
    )

    async def ask(question: Any, *arguments: Any) -> Document:
        return await asyncio.wrap_future(service.submit(question, *arguments))

    @server.tool()
    async def check(
        insertions: str = "", deletions: str = "", format: str = "ntriples"
    ) -> Document:
        """Decide whether the store with a batch of triples is consistent."""
        return await ask(service.check, TextBatch(insertions, deletions, format))

    @server.tool()
    async def explain(
        insertions: str = "", deletions: str = "", format: str = "ntriples", repairs: bool = False
    ) -> Document:
        """Decide a batch and explain each conflict; with repairs, the smallest changes that mend it."""
        return await ask(service.explain, TextBatch(insertions, deletions, format), repairs)

    @server.tool()
    async def gate(insertions: str = "", deletions: str = "", format: str = "ntriples") -> Document:
        """Split a batch into lines that could be accepted and lines to set aside. Nothing is written."""
        return await ask(service.gate, TextBatch(insertions, deletions, format))

    @server.tool()
    async def status() -> Document:
        """Describe the store: snapshot, certificate, sizes."""
        return await ask(service.status)

    return server
