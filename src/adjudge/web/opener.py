"""Hand the address with the token to a browser through a file: every user of a machine sees the
command lines of programs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

_PAGE = """<!doctype html>
<meta charset="utf-8"><title>adjudge</title>
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={0}">
<p><a href="{0}">adjudge</a></p>
"""


@contextmanager
def opener(url: str) -> Iterator[Path]:
    """Write a page that redirects to ``url``, readable only by this user, and delete it
    afterwards.
    """
    with TemporaryDirectory(prefix="adjudge-") as folder:  # which is this user's alone
        path = Path(folder) / "open.html"
        with os.fdopen(
            # fails if the file exists already: nobody else can have put it there
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600),
            "w",
            encoding="utf-8",
        ) as file:
            file.write(page_leading_to(url))
        yield path


def page_leading_to(address: str) -> str:
    """Return a page that redirects the browser to ``address``."""
    return _PAGE.format(escape(address))
