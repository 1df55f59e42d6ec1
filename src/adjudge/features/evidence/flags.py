"""Flags of the embedded model: sentences that are surely unsupported, those to be looked at, and
those with nothing found against them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from adjudge.core.domain.vote import Vote
from adjudge.features.evidence.support import LOOK_HERE, NOTHING_AGAINST, UNSUPPORTED, Flag

YES, NO = "Yes", "No"
SURE = -3.5
"""Log-odds below which a sentence is surely unsupported: there 85% of such sentences were, on a
part of AttributionBench that nothing else is measured with.
"""
DOUBTFUL = 0.0
"""Log-odds below which a sentence is to be looked at."""
# Words of the sources that are shown at once: as many as in the model's training.
_WORDS = 280
# Letters before this one are Latin, with or without accents.
_FIRST_OTHER = "\u0370"
_WORD = re.compile(r"\S+\s*")


def stretches(fragments: Sequence[str]) -> list[tuple[str, ...]]:
    """Group the fragments so that no group exceeds the words shown at once; split longer
    fragments.
    """
    groups: list[tuple[str, ...]] = []
    free = 0
    for piece in (piece for fragment in fragments for piece in _pieces(fragment)):
        size = len(piece.split())
        if size > free:
            groups.append(())
            free = _WORDS
        groups[-1] += (piece,)
        free -= size
    return groups


def _pieces(fragment: str) -> Iterator[str]:
    words = _WORD.findall(fragment)
    for start in range(0, len(words), _WORDS):
        yield "".join(words[start : start + _WORDS]).strip()


def odds_of(votes: Sequence[Vote]) -> float | None:
    """Return the log-odds that the sources support the sentence; None if a vote is missing.

    This is the mean over models of their best stretch.
    """
    if not votes or not all(vote.verdict for vote in votes):
        return None
    # sorted, so that the highest odds of each model overwrite the others; then the mean over models
    best = {vote.model: odds_in(vote) for vote in sorted(votes, key=odds_in)}
    return sum(best.values()) / len(best)


def odds_in(vote: Vote) -> float:
    """Return a vote's log-odds of Yes."""
    read = json.loads(vote.text or "{}")["logprobs"]
    return float(read[YES] - read[NO])


def flag_of(sentence: str, odds: float, *, lacking: bool) -> Flag:
    """Choose a sentence's flag.

    ``lacking``: the sources lack a name, number, date or unit of the sentence. The threshold was
    fitted to English, so a sentence in another script is surely unsupported only if it is also
    lacking something.
    """
    if odds < SURE and (lacking or _in_latin_letters(sentence)):
        return UNSUPPORTED
    return LOOK_HERE if lacking or odds < DOUBTFUL else NOTHING_AGAINST


def _in_latin_letters(sentence: str) -> bool:
    letters = [letter for letter in sentence if letter.isalpha()]
    return 2 * sum(letter < _FIRST_OTHER for letter in letters) >= len(letters)
