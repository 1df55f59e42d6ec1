"""Sentences made by rule of documents and of labelled sentences."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

from adjudge.features.evidence.sentences import sentences
from adjudge.features.evidence.support import CONTRADICTED, NOT_FOUND, SUPPORTED
from training.claims.records import UNSUPPORTED, Claim, claim
from training.claims.rules import Rules, names
from training.kinds.base import Language

_LONGEST_SENTENCE = 500
_WORDS = (6, 45)
"""A sentence that is taken has so many."""
_WRONGED, _HIDDEN, _NEXT_TO = 16_000, 26_000, 9_000
"""Labelled sentences that are changed, put among other passages, and moved to another source."""
_CHANGEABLE = ("fever", "mnli", "rte", "defacto", "foolmetwice", "wice", "infotabs", "scitail")
_SHORT = ("fever", "foolmetwice", "symmetric", "rte", "begin", "q2")
_NEIGHBOURS = 40


def made(
    labelled: Sequence[Claim], documents: dict[Language, list[str]], rng: random.Random
) -> list[Claim]:
    """All of them."""
    known = [name for text in documents["en"] for name in names(text)[:6]]
    rules = Rules(rng, known)
    found = [
        one
        for language, texts in documents.items()
        for one in _of_documents(texts, language, rules, rng)
    ]
    found += _changed(labelled, rules, rng)
    found += _among_others(labelled, rng)
    found += _next_to(labelled, rng)
    return [one for one in found if 4 <= len(one.sentence.split()) <= 100]


def _of_documents(
    texts: Sequence[str], language: Language, rules: Rules, rng: random.Random
) -> Iterator[Claim]:
    cut = [said for said in map(_sentences, texts) if len(said) > 1]
    for said in cut:
        for _ in range(6 if len(said) < 8 else 14):
            found = _Window(said, language, rules, rng).claim(rng.choice(cut))
            if found is not None:
                yield found


def _sentences(text: str) -> list[str]:
    return [
        one.text for one in sentences(text) if one.is_claim and len(one.text) < _LONGEST_SENTENCE
    ]


class _Window:
    """Some sentences of a document in a row, and one of them."""

    def __init__(
        self, said: Sequence[str], language: Language, rules: Rules, rng: random.Random
    ) -> None:
        size = rng.randint(2, min(len(said), rng.choice((4, 8, 16, 24))))
        start = rng.randrange(len(said) - size + 1)
        self._shown = list(said[start : start + size])
        self._hidden = [*said[:start], *said[start + size :]]
        self._place = rng.randrange(size)
        self._language, self._rules, self._rng = language, rules, rng

    def claim(self, elsewhere: Sequence[str]) -> Claim | None:
        """One of what can be made of it; ``elsewhere`` is another document."""
        one, rng = self._shown[self._place], self._rng
        if not _WORDS[0] <= len(one.split()) <= _WORDS[1]:
            return None
        if len(self._shown) > 5 and rng.random() < 0.22:
            return self._summary()
        (sort,) = rng.choices(
            (self._said, self._removed, self._hidden_one, self._wrong_one, self._both, self._half),
            (22, 12, 8, 36, 12, 10),
        )
        return sort(one, elsewhere)

    def _said(self, one: str, _: Sequence[str]) -> Claim | None:
        return self._claim(self._short(one) if self._rng.random() < 0.7 else one, SUPPORTED)

    def _removed(self, one: str, _: Sequence[str]) -> Claim | None:
        rest = self._shown[: self._place] + self._shown[self._place + 1 :]
        return self._claim(self._short(one), NOT_FOUND, rest) if len(rest) > 1 else None

    def _hidden_one(self, _one: str, _: Sequence[str]) -> Claim | None:
        hidden = self._short(self._rng.choice(self._hidden)) if self._hidden else ""
        return self._claim(hidden, NOT_FOUND)

    def _wrong_one(self, one: str, _: Sequence[str]) -> Claim | None:
        return self._claim(self._wrong(self._short(one)), CONTRADICTED)

    def _both(self, one: str, _: Sequence[str]) -> Claim | None:
        other = self._rng.choice(self._shown)
        said = f"{self._short(one)} {self._short(other)}"
        return self._claim(said, SUPPORTED) if other != one else None

    def _half(self, one: str, elsewhere: Sequence[str]) -> Claim | None:
        """A sentence that is said beside one that is not."""
        other = self._rng.choice(self._shown)
        false = (
            self._wrong(self._short(other))
            if self._rng.random() < 0.6
            else self._rng.choice(elsewhere)
        )
        both = [self._short(one), false]
        self._rng.shuffle(both)
        return self._claim(" ".join(both) if false and other != one else "", UNSUPPORTED)

    def _summary(self) -> Claim | None:
        rng = self._rng
        places = sorted(rng.sample(range(len(self._shown)), rng.randint(2, 4)))
        said = [self._short(self._shown[place]) for place in places]
        if rng.random() < 0.5:
            return self._claim(" ".join(said), SUPPORTED)
        place = rng.randrange(len(said))
        false = self._wrong(said[place])
        said[place] = false
        return self._claim(" ".join(said) if false else "", CONTRADICTED)

    def _claim(self, sentence: str, support: str, shown: Sequence[str] = ()) -> Claim | None:
        if not sentence:
            return None
        document = " ".join(shown or self._shown)
        return claim("made", document, sentence, support, language=self._language)

    def _short(self, sentence: str) -> str:
        return self._rules.shortened(sentence) if self._language == "en" else sentence

    def _wrong(self, sentence: str) -> str:
        """Of Russian sentences only numbers can be changed without changing endings."""
        document = " ".join(self._shown)
        if self._language == "en":
            return self._rules.wrong(sentence, document) or ""
        return self._rules.other_number(sentence, document) or ""


def _changed(labelled: Sequence[Claim], rules: Rules, rng: random.Random) -> Iterator[Claim]:
    """Supported sentences with another meaning, and the same in other words."""
    fitting = [one for one in labelled if one.supported and one.source in _CHANGEABLE]
    for one in rng.sample(fitting, min(_WRONGED, len(fitting))):
        wrong = rules.wrong(one.sentence, one.document)
        if wrong:
            reworded = rules.in_other_words(one.sentence, 0.7)
            yield claim("changed", one.fragments, rules.in_other_words(wrong), CONTRADICTED)
            yield claim("changed", one.fragments, reworded, SUPPORTED)


def _among_others(labelled: Sequence[Claim], rng: random.Random) -> Iterator[Claim]:
    """The source among passages about something else."""
    fitting = [one for one in labelled if one.source in _SHORT]
    pool = [one.document for one in fitting if 8 < len(one.document.split()) < 120]
    for one in rng.sample(fitting, min(_HIDDEN, len(fitting))):
        passages = [*rng.choices(pool, k=rng.choice((1, 1, 2, 3, 5))), one.document]
        rng.shuffle(passages)
        told = tuple(passages) if rng.random() < 0.7 else (" ".join(passages),)
        yield claim("among", told, one.sentence, one.support, one.question)


def _next_to(labelled: Sequence[Claim], rng: random.Random) -> Iterator[Claim]:
    """Sentences of FEVER beside the source of another one about the same name."""
    fitting = [one for one in labelled if one.source == "fever"]
    about: dict[str, list[Claim]] = defaultdict(list)
    for one in fitting:
        for name in _names(one):
            about[name].append(one)
    true = [one for one in fitting if one.supported]
    for one in rng.sample(true, min(_NEXT_TO, len(true))):
        others = [other for name in _names(one) for other in about[name][:_NEIGHBOURS]]
        others = [other for other in others if one.document[:60] not in other.document]
        if others:
            other = rng.choice(others)
            if _shared(one.sentence, other.document) < 0.8:
                yield claim("next_to", other.fragments, one.sentence, UNSUPPORTED)


def _names(one: Claim) -> list[str]:
    return sorted({word for word in one.sentence.split() if word[:1].isupper() and len(word) > 3})


def _shared(sentence: str, document: str) -> float:
    words = {word for word in sentence.lower().split() if len(word) > 3}
    return len(words & set(document.lower().split())) / max(1, len(words))
