"""What commands read from their arguments, alike for all of them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adjudge.cli.origin import signed
from adjudge.data.dataset import ROW_FILES, STDIN, read_instances
from adjudge.domain.instance import Instance
from adjudge.engine.run import Run
from adjudge.errors import SetupError
from adjudge.gateway.allowance import Budget
from adjudge.gateway.open import OpenModel, default_model, open_model
from adjudge.gateway.prices import VARIABLE

_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")
"""``user:password@`` in an address."""


def models_from(ids: list[str] | None, max_concurrency: int, *, cache: bool = False) -> list[OpenModel]:
    """The models named, or the embedded one."""
    return [open_model(id, max_concurrency=max_concurrency, cache=cache) for id in ids or [default_model()]]


def keeping_from(run: Path | None, budget: Budget | None, prices: Path | None) -> dict[str, Any]:
    """How ``evaluate`` is to keep its answers and its limits. The command is kept with the run, for ``adjudge resume``."""
    if prices is not None:
        os.environ[VARIABLE] = str(prices.absolute())
    return {"run": Run(run, facts={"command": command_line()}) if run else None, "budget": budget}


def command_line() -> dict[str, object]:
    """What was typed, and where, so that it can be given again; a key, and a password in an address, are left out."""
    words = sys.argv[1:]
    hidden = {place + 1 for place, word in enumerate(words) if word == "--api-key"}
    kept = [word for place, word in enumerate(words) if place not in hidden and not word.startswith("--api-key")]
    return signed([_LOGIN.sub("", word) for word in kept], str(Path.cwd()))


def is_rows(file: Path | None) -> bool:
    """Whether the file holds rows rather than one text; what comes in by ``--file -`` is rows."""
    return file is not None and (str(file) == STDIN or file.suffix.lower() in ROW_FILES)


def instances_from(
    text: str | None, file: Path | None, column: list[str] | None, limit: int | None, needed: Sequence[str] = ("response",)
) -> list[Instance]:
    """One text, or a row each, which must have the ``needed`` fields."""
    if (text is None) == (file is None):
        raise SetupError("say what to judge: a text, - for standard input, or --file PATH, one of the three")
    if file is not None and is_rows(file):
        return list(read_instances(file, columns_from(column, needed[0]), limit, needed))
    return [Instance(fields={"response": _text(text, file)})]


def columns_from(given: list[str] | None, judged: str = "response") -> dict[str, str]:
    """``NAME`` is the judged column; ``FIELD=COLUMN`` is any other."""
    pairs = [item.partition("=") for item in given or []]
    return {field if equals else judged: column if equals else field for field, equals, column in pairs}


def _text(text: str | None, file: Path | None) -> str:
    if text == "-":
        return sys.stdin.read()
    if file is None:
        return text or ""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SetupError(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{file} is not UTF-8 (byte {error.start}): save it as UTF-8 and try again") from error
