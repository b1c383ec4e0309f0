"""An S3 server of this machine for tests (moto), and a bucket of its own for each of them."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiq.remote.bucket import Bucket


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address."""
    pytest.importorskip("obstore", reason="needs obstore (the extra `cloud`)")
    pytest.importorskip("moto.server", reason="needs an S3 server: pip install 'moto[server]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (tmp_path_factory.mktemp("s3") / "log").open("w")
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            for _ in range(300):
                with socket.socket() as asked:
                    if asked.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()


@pytest.fixture
def bucket(s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A place for a store in a bucket of its own, and a folder of its own for copies."""
    for name, value in {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
        "SHIQ_CACHE": str(tmp_path / "copies"),
    }.items():
        monkeypatch.setenv(name, value)
    name = f"b{uuid.uuid4().hex}"
    urllib.request.urlopen(
        urllib.request.Request(f"{s3_server}/{name}", method="PUT"), timeout=30
    ).close()
    return Bucket(f"s3://{name}/graphs/kg")
