"""Russian texts with their English translations.

The base model hardly knows Russian. Translating teaches it more with each example than a Yes or No
does.
"""

from __future__ import annotations

import random

import numpy as np

from training.data import Translations
from training.kinds.bank import tags
from training.parallel import Both, filled, templates, words
from training.prompts import Tokeniser
from training.wordings import asked_alike

_ASK = "Translate into English: {}"
_LONGEST = 640


def translations(tokeniser: Tokeniser, count: int, seed: int) -> Translations:
    """Tokenised, each with its prompt."""
    rng = random.Random(f"translations {seed}")
    found = list(dict.fromkeys(_pair(rng) for _ in range(count)))
    texts = tokeniser.answered([(_ASK.format(russian), english) for english, russian in found])
    kept = [(ids, tail) for ids, tail in texts if len(ids) <= _LONGEST and tail <= len(ids) // 4]
    return Translations(
        ids=np.concatenate([np.array(ids, np.uint16) for ids, _ in kept]),
        lengths=np.array([len(ids) for ids, _ in kept], np.int32),
        tails=np.array([tail for _, tail in kept], np.int32),
    )


def _pair(rng: random.Random) -> Both:
    """A sentence or two, a criterion, or a word."""
    sort = rng.random()
    if sort < 0.15:
        phrases = rng.choice(list(tags().values())).phrases
        return asked_alike(rng, phrases.en, phrases.ru)
    if sort < 0.3:
        return rng.choice(words())
    made = [filled(rng, template) for template in rng.sample(templates(), rng.choice((1, 1, 2)))]
    return " ".join(english for english, _ in made), " ".join(russian for _, russian in made)
