"""Values of options, and the usage errors in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from adjudge.core.data.sources.text import check_encoding
from adjudge.core.gateway.headers import check_variable, parse_header
from adjudge.errors import SetupError
from adjudge.messages import Message

SHARE = click.FloatRange(0, 1)
_WRITTEN = (".csv", ".jsonl", ".ndjson", ".md", ".html", "")
"""Endings of result files. Without an ending the file is JSONL."""
_OF_RUNS = {".parquet": "parquet", ".xml": "junit"}
"""Endings that only exports of a kept run have → format."""


@contextmanager
def _as_bad_parameter() -> Iterator[None]:
    try:
        yield
    except SetupError as error:
        raise click.BadParameter(str(error)) from None


def header_line(given: str) -> tuple[str, str]:
    with _as_bad_parameter():
        return parse_header(given)


def variable(given: str) -> str:
    """Check the name of an environment variable."""
    with _as_bad_parameter():
        return check_variable(given)


def bar(given: str) -> tuple[str, float]:
    """Parse a bar: ``0.8`` for everything, ``NAME=0.8`` for one criterion or system."""
    name, separator, number = given.rpartition("=")
    if separator and not name.strip():
        raise click.BadParameter(
            Message("{bar!r} has no name before =: write 0.8, or NAME=0.8", bar=given)
        )
    if not _is_number(number):
        raise click.BadParameter(
            Message("{number!r} is not a number from 0 to 1: write 0.8, or NAME=0.8", number=number)
        )
    return name, float(SHARE(number))


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def known_encoding(given: str) -> str:
    with _as_bad_parameter():
        return check_encoding(given)


def writable(
    context: click.Context,  # noqa: ARG001
    parameter: click.Parameter,  # noqa: ARG001
    path: Path | None,
) -> Path | None:
    """Refuse an output file if its ending has no writer."""
    ending = path.suffix.lower() if path is not None else ""
    if path is not None and ending in _OF_RUNS:
        raise click.BadParameter(
            Message(
                "{suffix} cannot be written here: use a name that ends in .csv, .jsonl, .md or "
                ".html. For others, keep the run: --run FOLDER, then adjudge export FOLDER --to "
                "{format}",
                suffix=path.suffix,
                format=_OF_RUNS[ending],
            )
        )
    if path is not None and ending not in _WRITTEN:
        raise click.BadParameter(
            Message(
                "{suffix} cannot be written here: use a name that ends in .csv, .jsonl, .md or "
                ".html",
                suffix=path.suffix,
            )
        )
    return path
