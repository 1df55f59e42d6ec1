"""The key of a ballot's vote in a ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache

from adjudge.core.domain.vote import Ballot
from adjudge.core.ledger.rows import KEY_BYTES
from adjudge.core.prompts.renderer import LIKELIHOOD, TEXT_FIRST, version_in, wording


def key_of(
    ballot: Ballot, model: str, wordings: Mapping[str, str], *, asked: str | None = None
) -> bytes:
    """Return the key of a ballot's vote: the question, its wording, and the model.

    ``model``: its identity, since one name may be served in two places. ``wordings``: the prompt
    wordings at the start of the run, so answers are found even if a newer version words prompts
    differently. ``asked``: the identity of what the model is shown, if that is not the whole
    ballot.
    """
    if ballot.mode == "decide":  # the model's identity includes the version of this wording
        return _key(ballot.id, "", model)
    name = f"{ballot.template}.jinja"
    if ballot.mode == "likelihood":
        name = TEXT_FIRST if ballot.template == TEXT_FIRST else LIKELIHOOD
    worded = wordings.get(name) or wording(
        # A task that is repeated after the material has no entry of its own.
        name,
        ballot.language,
        version_in(ballot.template, wordings),
    )
    return _key(asked or ballot.id, worded, model)


@lru_cache(maxsize=4096)
def _key(asked: str, words: str, model: str) -> bytes:
    """Return the hash, cached: it is needed when a vote is looked up, asked, and judged."""
    text = f"{asked} {words} {model}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]
