"""Decompress gzip, bzip2, xz and zstd, recognised by their first bytes.

An archive that is truncated, or followed by other data, is an error and never a shorter file.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from enum import Enum
from typing import BinaryIO, TypeAlias, cast

_CHUNK = 1 << 16


class Compression(Enum):
    """The supported compression formats."""

    GZIP = "gzip"
    BZIP2 = "bzip2"
    XZ = "xz"
    ZSTD = "zstd"


SUFFIXES = {
    ".gz": Compression.GZIP,
    ".bz2": Compression.BZIP2,
    ".xz": Compression.XZ,
    ".zst": Compression.ZSTD,
}
_MAGIC = {
    b"\x1f\x8b": Compression.GZIP,
    b"BZh": Compression.BZIP2,
    b"\xfd7zXZ\0": Compression.XZ,
    b"\x28\xb5\x2f\xfd": Compression.ZSTD,
    **{
        bytes([0x50 + i]) + b"\x2a\x4d\x18": Compression.ZSTD for i in range(16)
    },  # frames to be skipped, which may come first
}
#: As many bytes tell a packing.
MAGIC_BYTES = 10


class BrokenArchiveError(Exception):
    """An archive is damaged; the message says how."""


def compression_of(start: bytes) -> Compression | None:
    """Return the compression format of data that begins with `start` (at least `MAGIC_BYTES`
    bytes); None if not compressed.
    """
    found = next((packing for magic, packing in _MAGIC.items() if start.startswith(magic)), None)
    if found is Compression.BZIP2 and start[4:10] not in (b"1AY&SY", b"\x17rE8P\x90"):
        return None
    return found


def decompress(raw: BinaryIO, packing: Compression | None) -> BinaryIO:
    """Return a stream of the decompressed bytes of `raw`.

    Its ``read`` raises BrokenArchiveError, or OSError if `raw` does.
    """
    if packing is None:
        return raw
    if packing is Compression.GZIP:
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    elif packing is Compression.ZSTD:
        stream = _open_zstd(raw)
    else:
        stream = cast(BinaryIO, _MemberStream(raw, packing))
    return cast(BinaryIO, _ErrorTranslator(stream))


def _open_zstd(raw: BinaryIO) -> BinaryIO:
    """Open a zstd stream by pyarrow. Raises: BrokenArchiveError."""
    import pyarrow as pa  # type: ignore[import-untyped]

    if not pa.Codec.is_available("zstd"):
        raise BrokenArchiveError("this pyarrow was built without zstd")
    return cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"))


class _ErrorTranslator:
    """A stream that turns the errors of a decompression library into BrokenArchiveError."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        """Read decompressed bytes. Raises: BrokenArchiveError."""
        try:
            return self._stream.read(size)
        except EOFError as error:
            raise BrokenArchiveError("it ends too early") from error
        except (zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
            raise BrokenArchiveError(str(error)) from error
        except OSError as error:
            if error.errno is None:  # of the library, not of the disk
                raise BrokenArchiveError(str(error)) from error
            raise

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


#: A decompressor of the standard library, for one archive.
_Decompressor: TypeAlias = bz2.BZ2Decompressor | lzma.LZMADecompressor


class _MemberStream(io.RawIOBase):
    """Concatenated bzip2 or xz archives as one stream. Garbage after the last one is an error."""

    def __init__(self, raw: BinaryIO, packing: Compression) -> None:
        self._raw, self._packing = raw, packing
        self._decompressor = self._new_decompressor()
        self._rest = b""

    def _new_decompressor(self) -> _Decompressor:
        """Make a decompressor for the next archive."""
        if self._packing is Compression.BZIP2:
            return bz2.BZ2Decompressor()
        return lzma.LZMADecompressor(lzma.FORMAT_XZ)

    def read(self, size: int = -1) -> bytes:
        """Read decompressed bytes, from one archive after the other. Raises: BrokenArchiveError, and
        what the decompressor does.
        """
        size = _CHUNK if size < 0 else size
        while True:
            decompressor = self._decompressor
            if decompressor.eof:
                self._rest = decompressor.unused_data or self._raw.read(_CHUNK)
                if self._packing is Compression.XZ:
                    self._pass_padding()
                if not self._rest:
                    return b""
                self._decompressor = decompressor = self._new_decompressor()
            if decompressor.needs_input and not self._rest:
                self._rest = self._raw.read(_CHUNK)
                if not self._rest:
                    raise BrokenArchiveError("it ends too early")
            data = decompressor.decompress(self._rest, size)
            self._rest = b""
            if data:
                return data

    def _pass_padding(self) -> None:
        """Skip the zero bytes after an xz stream, which are legal in multiples of four."""
        zeros = 0
        while self._rest:
            behind = self._rest.lstrip(b"\0")
            zeros += len(self._rest) - len(behind)
            self._rest = behind or self._raw.read(_CHUNK)
            if behind:
                break
        if zeros % 4:
            raise BrokenArchiveError(f"{zeros} bytes of padding, which xz has in fours only")
