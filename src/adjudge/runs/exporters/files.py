"""Files that reports are written to: completely or not at all, and never through a link."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE
from typing import BinaryIO, TextIO

from adjudge.core.aio.files import written_whole
from adjudge.core.ledger.file import FILE
from adjudge.errors import SetupError

STDOUT = Path("-")
_OF_PAGES = (".html", ".htm", ".xhtml", ".xht", ".shtml", ".mhtml", ".svg")
_SYSTEM = ("/dev", "/proc")
"""Folders with links of the system itself, such as /dev/stdout."""


@contextmanager
def whole_file(target: Path, *, is_page: bool = False) -> Iterator[BinaryIO]:
    """Yield a file that replaces ``target`` once it is complete. A link is replaced, not followed.

    ``is_page``: the content is HTML with untrusted text escaped. Other content must not have a name
    that browsers open as a page, since they would run scripts in judged texts.
    """
    if target.suffix.lower() in _OF_PAGES and not is_page:
        raise SetupError(
            "{target} would be opened as a web page, but this output is not one: use another "
            "file ending",
            target=target,
        )
    if target == STDOUT:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if _written_in_place(target):
        with target.open("wb") as file:
            yield file
        return
    with written_whole(target) as file:
        # the new file is private; it gets the mode of the one that it replaces
        if target.is_file() and not target.is_symlink():
            Path(file.name).chmod(S_IMODE(target.stat().st_mode))
        yield file


def _written_in_place(target: Path) -> bool:
    """Return True for devices, pipes, and files in a read-only folder.

    False for links and pipes inside a run folder, which may have come with it.
    """
    if (target.parent / FILE).exists() and (target.is_symlink() or target.is_fifo()):
        return False
    if (target.exists() and not target.is_file()) or any(
        target.absolute().is_relative_to(place) for place in _SYSTEM
    ):
        return True
    return (
        target.is_file()
        and not target.is_symlink()
        and not os.access(target.absolute().parent, os.W_OK)
    )


@contextmanager
def text_file(target: Path, encoding: str = "utf-8", *, is_page: bool = False) -> Iterator[TextIO]:
    """Like ``whole_file``, but for text. Characters that the encoding lacks are escaped."""
    with whole_file(target, is_page=is_page) as file:
        text = io.TextIOWrapper(file, encoding, errors="backslashreplace", newline="")
        yield text
        text.detach()  # flushed, and left open to be put on the disk
