"""What is known of a sentence and its source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from adjudge.features.evidence.support import SUPPORTED
from training.kinds.base import Language

UNSUPPORTED = "unsupported"
"""Contradicted or not found: the set does not say which."""
_OTHER_THAN_WORDS = re.compile(r"\W+")
_BEGINNING = 160


@dataclass(frozen=True)
class Claim:
    """A sentence to train on."""

    source: str
    fragments: tuple[str, ...]
    sentence: str
    support: str
    """supported, contradicted, not found, or unsupported."""
    question: str = ""
    language: Language = "en"

    @property
    def supported(self) -> bool:
        return self.support == SUPPORTED

    @property
    def document(self) -> str:
        return "\n".join(self.fragments)


@dataclass(frozen=True)
class Answer:
    """A text to measure with; ``group`` is equal where items are about one document."""

    name: str
    document: str
    text: str
    supported: bool
    question: str = ""

    @property
    def group(self) -> str:
        return fingerprint(self.document)


def claim(
    source: str,
    document: str | tuple[str, ...],
    sentence: str,
    support: str,
    question: str = "",
    language: Language = "en",
) -> Claim:
    """With white space around everything gone."""
    parts = (document,) if isinstance(document, str) else document
    fragments = tuple(part.strip() for part in parts if part.strip())
    return Claim(source, fragments, sentence.strip(), support, question.strip(), language)


def fingerprint(text: str) -> str:
    """Equal for texts that begin with the same letters and digits."""
    plain = _OTHER_THAN_WORDS.sub("", text.lower())[:_BEGINNING]
    return sha256(plain.encode()).hexdigest()
