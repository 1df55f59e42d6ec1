"""What the vote on a ballot is found by."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache

from adjudge.core.domain.vote import Ballot
from adjudge.core.ledger.rows import KEY_BYTES
from adjudge.core.prompts.renderer import LIKELIHOOD, TEXT_FIRST, wording


def key_of(
    ballot: Ballot, model: str, wordings: Mapping[str, str], *, asked: str | None = None
) -> bytes:
    """What is asked, in which words, of which model: ``model`` is its identity, since one name may
    be served at two places.

    ``wordings`` are those that the run began with: its answers are found by them, also when a newer
    version words prompts anew. ``asked``: what the ballot asks, where that is less than all of it.
    """
    if ballot.mode == "decide":  # the model's identity holds the version of these words
        return _key(ballot.id, "", model)
    name = f"{ballot.template}.jinja"
    if ballot.mode == "likelihood":
        name = TEXT_FIRST if ballot.template == TEXT_FIRST else LIKELIHOOD
    return _key(asked or ballot.id, wordings.get(name) or wording(name, ballot.language), model)


@lru_cache(maxsize=4096)
def _key(asked: str, words: str, model: str) -> bytes:
    """A ballot's is wanted when it is looked for, when it is asked, and when it is judged."""
    text = f"{asked} {words} {model}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]
