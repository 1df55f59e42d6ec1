"""What commands read from their arguments, alike for all of them."""

from __future__ import annotations

import hmac
import io
import json
import os
import re
import secrets
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from click import UsageError

from adjudge.aio.files import cache_folder
from adjudge.data.dataset import STDIN
from adjudge.data.sources.open import DATA_FILES, is_data_file
from adjudge.data.sources.row import Origin
from adjudge.data.sources.text import encoding_of, likely_encoding
from adjudge.domain.criteria import Criteria
from adjudge.domain.instance import Instance
from adjudge.errors import SetupError
from adjudge.gateway.redact import without_secrets
from adjudge.messages import Message, reason_of

_OPTIONS = {"user_input": "--user-input", "reference": "--reference", "contexts": "--context"}
_ADDRESS = re.compile(r"(?:--?[\w-]+=?)?\s*https?://\S+\s*", re.IGNORECASE)
"""A word that is an address and nothing else: an address in a judged text stays as it is."""
_POSTGRES = re.compile(r"(?:--on=)?postgres(?:ql)?://", re.IGNORECASE)
_PASSWORD = re.compile(
    r"(?<!:):(?!//)[^@/?#]*(?=@)|(?<=[?&])password=[^&#]*&?|[?&]password=[^&#]*(?=#|$)",
    re.IGNORECASE,
)


@contextmanager
def typed_wrong() -> Iterator[None]:
    """What cannot be meant, because it was typed so, is a mistake in usage."""
    try:
        yield
    except SetupError as error:
        raise UsageError(str(error)) from error


def check_criteria(run: Path, criteria: str | None) -> None:
    """Say so when a run of which nothing was found does not ask such criteria at all."""
    from adjudge.labels.scales import label_scale  # not loaded by those who have no labels

    if criteria is not None:
        with typed_wrong():
            label_scale(run, criteria)


def command_line() -> dict[str, object]:
    """What was typed, and where, so that it can be given again; a key, and what is secret in an
    address, are left out.
    """
    words = sys.argv[1:]
    hidden = {place + 1 for place, word in enumerate(words) if word == "--api-key"}
    hidden |= {place - 1 for place in hidden}
    kept = [
        word
        for place, word in enumerate(words)
        if place not in hidden and not word.startswith("--api-key=")
    ]
    return signed(list(map(_harmless, kept)), str(Path.cwd()))


def _harmless(word: str) -> str:
    """Of the address of a Postgres server all but the password is needed to go on."""
    if _POSTGRES.match(word):
        return _PASSWORD.sub("", word)
    return without_secrets(word) if _ADDRESS.fullmatch(word) else word


def is_rows(file: Path | None) -> bool:
    """Whether the file holds rows rather than one text; what comes in by ``--file -`` is rows."""
    return file is not None and (str(file) == STDIN or file.suffix.lower() in DATA_FILES)


def rows_in(text: str | None, file: Path | None) -> Path | None:
    """The file, where it holds rows."""
    if (text is None) == (file is None):
        raise UsageError(
            Message(
                "say what to judge: a text, - for standard input, or --file PATH, one of the three"
            )
        )
    return file if is_rows(file) else None


def texts_in(
    text: str | None, file: Path | None, judged: str = "response", encoding: str | None = None
) -> list[Instance]:
    """The one text that was typed, read from standard input or from a file that holds no rows."""
    return [] if is_rows(file) else [Instance(fields={judged: _text(text, file, encoding)})]


def refuse_files(texts: Sequence[str]) -> None:
    """Typed where a text belongs, the names of data files would be judged as if they were the
    texts.
    """
    if texts and all(map(is_data_file, texts)):
        raise UsageError(
            Message(
                "{texts!r} is a file, and its name would be judged: give its rows with "
                "--file {texts}",
                texts=texts[0],
            )
        )


def check_given(criteria: Criteria, fields: Collection[str]) -> None:
    """Say which option gives what the criteria read and a text alone does not have."""
    judged = criteria.to_evaluate_field
    for name in criteria.context_fields or ():
        if name != judged and name not in fields:
            option = _OPTIONS.get(name)
            way = (
                Message("with {option}", option=option)
                if option
                else Message("in rows that have a column {name!r} (--file ROWS)", name=name)
            )
            raise UsageError(
                Message(
                    "criteria {name!r} reads {name2!r} beside {judged!r}: give it {way}",
                    name=criteria.name,
                    name2=name,
                    judged=judged,
                    way=way,
                )
            )


def columns_from(given: Sequence[str], judged: str = "response") -> dict[str, str]:
    """``NAME`` is the judged column; ``FIELD=COLUMN`` is any other."""
    found: dict[str, str] = {}
    for field, equals, column in (item.partition("=") for item in given):
        name, meant = (field, column) if equals else (judged, field)
        if found.setdefault(name, meant) != meant:
            raise UsageError(
                Message(
                    "--column names two columns for {name}, {found} and {meant}: keep one of them",
                    name=name,
                    found=found[name],
                    meant=meant,
                )
            )
    return found


def _text(text: str | None, file: Path | None, given: str | None) -> str:
    if text == "-":
        return sys.stdin.read()
    if file is None:
        refuse_files([text or ""])
        return text or ""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise SetupError(
            "{file} cannot be read: {reason}", file=file, reason=reason_of(error)
        ) from error
    encoding = encoding_of(raw[:4], Origin(str(file)), given)
    try:
        return io.TextIOWrapper(io.BytesIO(raw), encoding).read().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise SetupError(
            "{file} is not {upper} (byte {start}): {likely_encoding}",
            file=file,
            upper=encoding.upper(),
            start=error.start,
            likely_encoding=likely_encoding(error.object),
        ) from error


_FILE = "origin.key"
_BYTES = 32
_FOR_OTHERS = 0o077


def signed(argv: list[str], cwd: str) -> dict[str, object]:
    """A command as it is kept; without a signature where the user's cache folder cannot hold the
    secret.
    """
    secret = _secret(make=True)
    return {
        "argv": argv,
        "cwd": cwd,
        **({"signature": _signature(secret, argv, cwd)} if secret else {}),
    }


def is_ours(command: Mapping[str, object]) -> bool:
    """Whether this user gave the command here."""
    secret, signature = _secret(make=False), command.get("signature")
    if secret is None or not isinstance(signature, str) or not signature.isascii():
        return False
    return hmac.compare_digest(signature, _signature(secret, command["argv"], command["cwd"]))


def _signature(secret: bytes, argv: object, cwd: object) -> str:
    return hmac.new(secret, json.dumps(["command", argv, cwd]).encode(), "sha256").hexdigest()


def _secret(*, make: bool) -> bytes | None:
    """The user's secret, or None where there is none that only the user can read."""
    try:
        path = cache_folder() / _FILE
        if make and not path.exists():
            _make(path)
        return _own(path)
    except (OSError, SetupError):
        return None


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{_FILE}.{secrets.token_hex(8)}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _own(path: Path) -> bytes | None:
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        about = os.fstat(file.fileno())
        if os.name == "posix" and (about.st_uid != os.getuid() or about.st_mode & _FOR_OTHERS):
            return None
        secret = file.read(_BYTES)
    return secret if len(secret) == _BYTES else None
