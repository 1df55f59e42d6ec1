"""Sentences that commands say; ``sentences.json`` has them in each language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

Sentence = Literal[
    "all answered",
    "all asked",
    "all labelled",
    "and more",
    "answered already",
    "asked in batches",
    "batch cancelled",
    "batch collected",
    "batch cost",
    "batch live",
    "batch note",
    "batch rounds",
    "batch searching",
    "batch sent",
    "batch stopping",
    "batch twice",
    "batch waiting",
    "batches collected by",
    "calls",
    "candidates",
    "cascade",
    "cascade calls",
    "cascade cost",
    "cascade nobody",
    "chosen rows",
    "cost",
    "decided by step",
    "ended",
    "ends of candidates",
    "ends of judging",
    "interrupted",
    "judged so far",
    "judgments",
    "keys",
    "known price",
    "labelled",
    "last decides",
    "learnt thresholds",
    "learnt weights",
    "left",
    "mean between",
    "no result",
    "no thresholds",
    "nobody decides",
    "note",
    "note kept",
    "nothing to label",
    "nothing to pay",
    "nothing to undo",
    "number keys",
    "part done",
    "price not known",
    "price of",
    "random rows",
    "response",
    "resume",
    "resume with more",
    "resume with run",
    "row skipped",
    "rows are not kept",
    "skipped",
    "stopped at once",
    "stopped at once, kept",
    "stopped at once, not kept",
    "stopped early",
    "stopping",
    "stopping, kept",
    "strong position bias",
    "tie",
    "to",
    "tokens",
    "unanswered",
    "undone",
    "unknown key",
    "unscored",
    "unsure",
]


@cache
def _sentences() -> Mapping[Sentence, Mapping[str, str]]:
    found: dict[Sentence, dict[str, str]] = json.loads(
        (files(__package__) / "sentences.json").read_text(encoding="utf-8")
    )
    return found


def sentence(name: Sentence, language: str, **values: object) -> str:
    """The sentence ``name`` with its values."""
    said = _sentences()[name]
    return said.get(language, said["en"]).format(**values)
