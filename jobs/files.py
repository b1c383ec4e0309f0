"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from shiq.errors import OperationalError


def write_whole(path: Path, content: bytes | str) -> None:
    """Writes the file in one step: it holds ``content``, or what it held before. Readable for whom the umask says.

    Text is written as UTF-8, and a lone surrogate, which UTF-8 does not have, as its escape. Raises: OperationalError.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = file.name
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise OperationalError(
            f"{path}: cannot be written ({error.strerror})", "Name a file in a directory that exists and may be written."
        ) from error


def json_text(value: Any) -> str:
    """``value`` as the JSON that every command writes."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
