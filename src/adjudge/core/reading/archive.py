"""ZIP archives from untrusted sources. Entries are read into memory one by one, within limits, and
never unpacked to the disk.
"""

from __future__ import annotations

import gzip
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

from adjudge.errors import RunError, SetupError

LARGEST_ENTRY = 100_000_000
"""Bytes of one entry, unpacked."""
# An archive that unpacks to more bytes than the first number may grow by at most the second as a
# factor.
_SUSPICIOUS, _EXPANSION = 1_000_000_000, 200
_CHUNK = 1 << 20
_ZSTD = 93
_LOCAL_HEADER = 30
_BACK_SLASH = "\\"


class Unpacker(Protocol):
    """A decompressor with a limit per call."""

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def entry_names(path: Path) -> tuple[str, ...]:
    """Return the names in an archive, or raise RunError if it is not safe."""
    with _open_archive(path) as archive:
        return tuple(info.filename for info in _safe_entries(archive, path))


def entries(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the wanted entries, in order; raise RunError if one is unsafe,
    damaged or too large.
    """
    total = 0
    with _open_archive(path) as archive, path.open("rb") as file:
        for info in _safe_entries(archive, path):
            if not wanted(info.filename) or info.is_dir():
                continue
            content = _content(file, info, path)
            total += len(content)
            _check_expansion(path, total)
            yield info.filename, content


def unpacked_size(path: Path) -> int:
    """Return the unpacked size of a gzip file in bytes; raise RunError if it is damaged or too
    large.
    """
    total = 0
    try:
        with gzip.open(path) as file:
            while chunk := file.read(_CHUNK):
                total += len(chunk)
                _check_expansion(path, total)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise RunError("cannot be unpacked: {error}", error=str(error)) from error
    return total


def _check_expansion(path: Path, unpacked: int) -> None:
    size = path.stat().st_size
    most = max(_SUSPICIOUS, _EXPANSION * size)
    if unpacked > most:
        raise RunError(
            "{path} unpacks to more than {most:,} bytes from {size:,} and is not used",
            path=path,
            most=most,
            size=size,
        )


def _open_archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise RunError(
            "{path} is not a complete ZIP archive: {error}", path=path, error=error
        ) from error


def _safe_entries(archive: zipfile.ZipFile, path: Path) -> list[zipfile.ZipInfo]:
    for info in archive.infolist():
        name = info.filename
        if (
            name.startswith("/")
            or _BACK_SLASH in name
            or ".." in PurePosixPath(name).parts
            or ":" in name[:2]
        ):
            raise RunError(
                "{path} is not used, because its entry {name!r} points outside the archive",
                path=path,
                name=name,
            )
    return archive.infolist()


def _content(file: BinaryIO, info: zipfile.ZipInfo, path: Path) -> bytes:
    where = f"{path}, entry {info.filename!r}"
    if info.flag_bits & 1:
        raise RunError(
            "{where} is encrypted: unpack the archive with its password, and import its contents",
            where=where,
        )
    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or not header.startswith(b"PK\x03\x04"):
        raise RunError("{where}: the archive is damaged", where=where)
    # Bytes 26 to 29: the lengths of the name and of the extra field in front of the data.
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    try:
        content = _unpack(file, info, where)
    except SetupError:  # the unpacker is not installed
        raise
    except (zlib.error, EOFError, ValueError) as error:
        raise RunError("{where} is damaged: {error}", where=where, error=error) from error
    if zlib.crc32(content) != info.CRC:
        raise RunError("{where} is damaged: its checksum does not match", where=where)
    return content


def _unpack(file: BinaryIO, info: zipfile.ZipInfo, where: str) -> bytes:
    """Unpack an entry. The sizes stated in the archive may be false, so never more than the limit
    is read into memory.
    """
    unpacker, remaining, content = (
        _unpacker(info.compress_type, where),
        info.compress_size,
        bytearray(),
    )
    while remaining > 0 and (chunk := file.read(min(_CHUNK, remaining))):
        remaining -= len(chunk)
        content += (
            chunk
            if unpacker is None
            else unpacker.decompress(chunk, LARGEST_ENTRY + 1 - len(content))
        )
        if len(content) > LARGEST_ENTRY:
            raise RunError(
                "{where} unpacks to more than {most:,} bytes and is not used",
                where=where,
                most=LARGEST_ENTRY,
            )
    return bytes(content)


def _unpacker(method: int, where: str) -> Unpacker | None:
    if method == zipfile.ZIP_STORED:
        return None
    if method == zipfile.ZIP_DEFLATED:
        # Negative: raw deflate, without the header of zlib.
        return zlib.decompressobj(-zlib.MAX_WBITS)
    if method == _ZSTD:
        return _zstd()
    raise RunError(
        "{where} is compressed with method {method}, which is not supported: use deflate or zstd",
        where=where,
        method=method,
    )


def _zstd() -> Unpacker:
    unpacker = zstd_unpacker()
    if unpacker is None:
        raise SetupError(
            "Inspect logs are compressed with zstd: pip install 'adjudge[inspect]', or write the "
            "log as JSON with 'inspect log convert --to json'"
        )
    return unpacker


def zstd_unpacker() -> Unpacker | None:
    """Return an unpacker of zstd; None if this Python has none."""
    try:
        module = import_module(
            "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
        )
    except ImportError:
        return None
    unpacker: Unpacker = module.ZstdDecompressor()
    return unpacker
