"""Inputs that commands read from their arguments, in the same way for all of them."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from click import UsageError

from adjudge.core.data.dataset import STDIN
from adjudge.core.data.sources.opener import DATA_FILES, is_data_file, refuse_document
from adjudge.core.data.sources.row import Origin
from adjudge.core.data.sources.text import encoding_of, likely_encoding
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.errors import SetupError
from adjudge.messages import Message, reason_of

_OPTIONS = {"user_input": "--user-input", "reference": "--reference", "contexts": "--context"}


@contextmanager
def as_usage_error() -> Iterator[None]:
    """Turn a SetupError caused by something the user typed into a usage error."""
    try:
        yield
    except SetupError as error:
        raise UsageError(str(error)) from error


def check_criteria(run: Path, criteria: str | None) -> None:
    """Raise a usage error if the run has no criteria of this name. None is accepted."""
    from adjudge.trust.labels.scales import (
        label_scale,  # not loaded by those who have no labels
    )

    if criteria is not None:
        with as_usage_error():
            label_scale(run, criteria)


def is_rows(file: Path | None) -> bool:
    """Return True if the file holds rows, not a single text. ``--file -`` always means rows."""
    return file is not None and (str(file) == STDIN or file.suffix.lower() in DATA_FILES)


def rows_in(text: str | None, file: Path | None) -> Path | None:
    """Return the file if it holds rows, else None. Raises a UsageError unless exactly one of text
    and file is given.
    """
    if (text is None) == (file is None):
        raise UsageError(
            Message("nothing to judge was given: pass a text, - for standard input, or --file PATH")
        )
    return file if is_rows(file) else None


def texts_in(
    text: str | None, file: Path | None, judged: str = "response", encoding: str | None = None
) -> list[Instance]:
    """Return the single text to judge, typed or read from a file or standard input; empty if the
    file holds rows.
    """
    return [] if is_rows(file) else [Instance(fields={judged: _text(text, file, encoding)})]


def refuse_files(texts: Sequence[str]) -> None:
    """Raise if all texts are names of data files, because the names themselves would be judged."""
    if texts and all(map(is_data_file, texts)):
        refuse_document(Path(texts[0]))
        raise UsageError(
            Message(
                "{texts!r} is a file, so its name would be judged: pass its rows with --file "
                "{texts}",
                texts=texts[0],
            )
        )


def check_given(criteria: Criteria, fields: Collection[str]) -> None:
    """Raise if a field that the criterion reads is missing. The error names the option that
    provides it.
    """
    judged_field = criteria.to_evaluate_field
    for name in criteria.context_fields or ():
        if name != judged_field and name not in fields:
            option = _OPTIONS.get(name)
            way = (
                Message("with {option}", option=option)
                if option
                else Message("in rows that have a column {name!r} (--file ROWS)", name=name)
            )
            raise UsageError(
                Message(
                    "criteria {name!r} reads {name2!r} in addition to {judged!r}: pass it {way}",
                    name=criteria.name,
                    name2=name,
                    judged=judged_field,
                    way=way,
                )
            )


def columns_from(given: Sequence[str], judged: str = "response") -> dict[str, str]:
    """Return field → column. ``NAME`` is the judged field's column, ``FIELD=COLUMN`` that of
    another field.

    Raises a UsageError if a field gets two columns.
    """
    columns: dict[str, str] = {}
    for field, equals, column in (item.partition("=") for item in given):
        name, column_name = (field, column) if equals else (judged, field)
        if columns.setdefault(name, column_name) != column_name:
            raise UsageError(
                Message(
                    "--column names two columns for {name}, {found} and {meant}: keep only one "
                    "of them",
                    name=name,
                    found=columns[name],
                    meant=column_name,
                )
            )
    return columns


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
