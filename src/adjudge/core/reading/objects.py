"""Files in object stores, by addresses such as ``s3://bucket/rows.csv``, read with obstore.

Credentials come from the environment, as the provider's own tools read them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TypeVar
from urllib.parse import unquote, urlsplit

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import SetupError
from adjudge.messages import Message

T = TypeVar("T")
SCHEMES = ("s3", "gs", "az", "abfs", "abfss")
# Bytes per request.
_AT_ONCE = 4 * 2**20
# Time for retries if a server cannot be reached or fails.
_PATIENCE = timedelta(seconds=30)
_NO_BUCKET = re.compile("NoSuchBucket|ContainerNotFound")
# Error of an object store → advice for the user.
_TROUBLES = (
    (
        re.compile("latest/api/token|computeMetadata|metadata/identity|Account must be specified"),
        (
            Message(
                "there are no credentials in the environment: set those of the provider, such as "
                "AWS_ACCESS_KEY_ID, GOOGLE_SERVICE_ACCOUNT or AZURE_STORAGE_ACCOUNT_NAME"
            )
        ),
    ),
    (
        re.compile(r"code: 40[13]\b|AccessDenied|necessary privileges|valid authentication"),
        (
            Message(
                "access is denied: check the credentials in the environment, and that they allow "
                "listing, reading and writing there"
            )
        ),
    ),
    (
        _NO_BUCKET,
        Message("there is no such bucket: check its name, and the endpoint"),
    ),
    (
        re.compile("incorrectly configured region"),
        Message("the bucket is in another region: set AWS_REGION"),
    ),
    (
        re.compile("PreconditionFailed|412 Precondition"),
        Message("it was replaced while being read: start again"),
    ),
    (
        re.compile("error sending request"),
        Message("its server cannot be reached: check the endpoint and the network"),
    ),
)
_HOW_IT_ASKED = re.compile(r"Error performing \S+ \S+ in \S+(?:, after .*?)? +- ")


@light_dataclass(frozen=True)
class ObjectFile:
    """A file in an object store. Every failure is an OSError.

    Example: ``location_of("s3://bucket/rows.csv", Path()).read_bytes()``
    """

    address: str

    def __str__(self) -> str:
        return self.address

    @property
    def name(self) -> str:
        """Name of the file without its folder."""
        return PurePosixPath(unquote(urlsplit(self.address).path)).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    def absolute(self) -> ObjectFile:
        """Return the file itself: an address is always absolute."""
        return self

    def open(self, mode: str = "rb") -> BinaryIO:  # noqa: ARG002 - like Path.open
        """Open for reading with seeks. Every few megabytes are one request."""
        return io.BufferedReader(_Ranges(self._folder(), self.name), _AT_ONCE)

    def read_bytes(self) -> bytes:
        with self.open() as file:
            return file.read()

    def version(self) -> str:
        """Return a tag that changes with the content."""
        folder = self._folder()
        import obstore

        return str(raise_os_errors(lambda: obstore.head(folder, self.name))["e_tag"])

    def check(self) -> None:
        """Raise OSError if the bucket is missing or denies access."""
        folder = self._folder()
        import obstore

        raise_os_errors(lambda: obstore.list_with_delimiter(folder, self.name))

    def replace_by(self, file: Path) -> None:
        """Upload a file in place of this one: all of it, or nothing."""
        folder = self._folder()
        import obstore

        raise_os_errors(lambda: obstore.put(folder, self.name, file, chunk_size=2 * _AT_ONCE))

    def _folder(self) -> Any:
        return open_objects(self.address.rpartition("/")[0])


def location_of(text: str, folder: Path) -> Path | ObjectFile:
    """Return a path relative to ``folder``, or the file at an address. SetupError for an unknown
    kind of address.
    """
    if "://" not in text:
        return folder / text
    parts = urlsplit(text)
    if parts.password or parts.query:
        raise SetupError(
            "the address of {name} contains a password or a query: put credentials into the "
            "environment",
            name=f"{parts.scheme}://{parts.hostname}{parts.path}",
        )
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return Path(unquote(parts.path))
    if parts.scheme not in SCHEMES or not parts.path.strip("/"):
        raise SetupError(
            "{text} cannot be used: give the path of a file, or an address such as "
            "s3://BUCKET/FILE, gs://BUCKET/FILE, az://CONTAINER/FILE or file:///FOLDER/FILE",
            text=text,
        )
    return ObjectFile(text)


def open_objects(address: str) -> Any:
    """Return obstore's store at an address; raise SetupError if obstore is not installed."""
    if find_spec("obstore") is None:
        raise SetupError(
            "reading and writing buckets needs obstore: pip install 'adjudge[objects]'"
        )
    from obstore.store import from_url

    return raise_os_errors(lambda: from_url(address, retry_config={"retry_timeout": _PATIENCE}))


def raise_os_errors(work: Callable[[], T]) -> T:
    """Run ``work``, and turn its errors into OSErrors of one line."""
    from obstore.exceptions import AlreadyExistsError, BaseError

    try:
        return work()
    except AlreadyExistsError as error:
        raise FileExistsError(str(error).splitlines()[0]) from error
    except FileNotFoundError as error:
        if _NO_BUCKET.search(str(error)):
            raise OSError(_advise(error)) from error
        raise FileNotFoundError(str(error).splitlines()[0]) from error
    except (BaseError, ValueError) as error:
        raise OSError(_advise(error)) from error


def _advise(error: Exception) -> str:
    """Return the advice for a known error; else the library's message without the request."""
    text = str(error)
    advice = (words for pattern, words in _TROUBLES if pattern.search(text))
    return next(advice, _HOW_IT_ASKED.sub("", text.splitlines()[0]))


class _Ranges(io.RawIOBase):
    """An object, read in ranges. Reading stops with an error if it is replaced meanwhile."""

    def __init__(self, folder: Any, name: str) -> None:
        import obstore

        self._folder, self._name, self._at = folder, name, 0
        try:
            head = raise_os_errors(lambda: obstore.head(folder, name))
        except FileNotFoundError:
            raise FileNotFoundError(Message("there is no such object")) from None
        self._size, self._version = head["size"], head["e_tag"]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        import obstore

        end = min(self._at + len(buffer), self._size)
        if end <= self._at:
            return 0
        options = {"range": (self._at, end), "if_match": self._version}
        content = raise_os_errors(
            lambda: obstore.get(self._folder, self._name, options=options).bytes()
        )
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)
