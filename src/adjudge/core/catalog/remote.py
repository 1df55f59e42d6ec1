"""Criteria in a public repository: fetched once, on request, and never while judging."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from adjudge.core.aio.files import writing
from adjudge.core.catalog.criteria_file import read_entries
from adjudge.errors import RunError, SetupError

VARIABLE = "ADJUDGE_GITHUB_RAW"
"""Variable for another server of raw files than GitHub's, such as a company's."""
_RAW = "https://raw.githubusercontent.com"
_SOURCE = re.compile(r"github:([\w.-]+)/([\w.-]+)@([\w.-]+)/([\w./-]+\.(?:yaml|yml|json))")
_LICENCES = ("LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING")
_LARGEST = 1 << 20
_PATIENCE = 30


@dataclass(frozen=True)
class RemoteCriteria:
    """A file of a repository at one tag or commit.

    Example: ``RemoteCriteria.of("github:acme/criteria@v1/tone.yaml").fetch()``
    """

    source: str
    owner: str
    repository: str
    tag: str
    path: PurePosixPath

    @classmethod
    def of(cls, source: str) -> RemoteCriteria:
        """Parse ``github:owner/repository@tag/path/to/criteria.yaml``; raise SetupError for
        anything else.
        """
        match = _SOURCE.fullmatch(source)
        if match is None or ".." in source.split("/"):
            raise SetupError(
                "{source!r} does not name a file of criteria: write "
                "github:OWNER/REPOSITORY@TAG/PATH.yaml",
                source=source,
            )
        owner, repository, tag, path = match.groups()
        return cls(source, owner, repository, tag, PurePosixPath(path))

    def fetch(self) -> bytes:
        """Return the file, or raise RunError if there is none."""
        content = _download(self._address(str(self.path)))
        if content is None:
            raise RunError(
                "{source} was not found: check the repository, the tag and the path",
                source=self.source,
            )
        return content

    def licence(self) -> str:
        """Return the first line of the repository's licence; empty without one."""
        for name in _LICENCES:
            if text := _download(self._address(name)):
                return next(
                    (
                        line.strip()
                        for line in text.decode(errors="replace").splitlines()
                        if line.strip()
                    ),
                    "",
                )[:200]
        return ""

    def _address(self, path: str) -> str:
        server = os.environ.get(VARIABLE, "").rstrip("/") or _RAW
        return f"{server}/{self.owner}/{self.repository}/{self.tag}/{path}"


def _download(address: str) -> bytes | None:
    """Return the content at an address; None if there is nothing, and a RunError for any other
    failure.
    """
    if not address.startswith(("https://", "http://")):
        raise SetupError(
            "{variable} must be an address such as https://raw.example.com, not {address!r}",
            variable=VARIABLE,
            address=address,
        )
    try:
        # The scheme is http or https, as checked above.
        with urlopen(Request(address), timeout=_PATIENCE) as answer:  # noqa: S310
            body: bytes = answer.read(_LARGEST + 1)
    except HTTPError as error:
        if error.code in (404, 410):
            return None
        raise RunError(
            "{address} cannot be fetched: status {code}", address=address, code=error.code
        ) from error
    except (OSError, HTTPException) as error:
        raise RunError(
            "{address} cannot be fetched: {error}", address=address, error=error
        ) from error
    if len(body) > _LARGEST:
        raise RunError(
            "{address} has more than {most} bytes, too many for a file of criteria",
            address=address,
            most=_LARGEST,
        )
    return body


def keep_criteria(file: Path, content: bytes) -> None:
    """Write fetched content to a file; raise an error, and leave the file alone, if it holds no
    criteria.
    """
    part = file.with_name(f".{file.stem}.{os.getpid()}.fetched{file.suffix}")
    try:
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(content)
            read_entries(part)
            part.replace(file)
    finally:
        part.unlink(missing_ok=True)
