"""Make the claims: sentences and sources of public sets as prompts of the package, tokenised.

    python -m training.claims.build --mirror FOLDER --out OUT [--seed 1] [--made 2]

FOLDER has the repositories that ``repositories.py`` names, each as OWNER+NAME/repo. Writes
OUT/claims.npz (trained on, and a part kept for validation), OUT/answers.npz and
OUT/answers_lookups.npz (only measured with), and the same by the name of development (choices are
made by it). No sentence and no document of what is measured with is trained on.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from adjudge.core.domain.criteria import Criteria, yes_no_criteria
from adjudge.features.evidence.pool import support_criteria
from adjudge.features.local.weights.store import find
from training.build import tokenised
from training.claims.answers import answers, development
from training.claims.labelled import labelled, passages
from training.claims.lookups import Lookups, chunks_of, lexical, save_lookups, sentences_of
from training.claims.made import made
from training.claims.records import UNSUPPORTED, Answer, Claim, fingerprint
from training.claims.repositories import Mirror
from training.data import save
from training.kinds.base import Case, Language
from training.prompts import shown
from training.rows import Made, Row
from training.texts import bank

_THREE_WAY = 0.4
"""How often a sentence is asked about with three options, where it is known which fits."""
_PLAIN = 0.7
"""How often Yes or No is asked for in the words of the package's own question."""
_RUSSIAN_FRAME = 0.6
_KEPT = {"fever": 300, "mnli": 300, "snli": 300}
_KEPT_OF_OTHERS = 80
"""Sentences of a set that are kept for validation."""
_AT_ONCE = 10_000
"""Sentences that a process makes prompts of at once."""
_SHORTEST = 25, 200
"""Letters from which on a sentence and a document tell that they are the same."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--made",
        type=int,
        help="seed of what is made by rule, drawn anew beside the same sentences",
    )
    parser.add_argument("--weights", type=Path, help="a GGUF file of the model")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    mirror, rng = Mirror(args.mirror), random.Random(args.seed)
    mirror.check()
    weights = args.weights or find("smollm2-135m")
    measured = answers(mirror, rng)
    trained, kept = claims(mirror, measured, rng, random.Random(args.made) if args.made else rng)
    rows = [*_rows(trained, args.made or args.seed), *(_kept_row(*one) for one in enumerate(kept))]
    save(args.out / "claims.npz", tokenised(rows, weights))
    for name, some in (("development", development(mirror, measured)), ("answers", measured)):
        looked, lookups = look_up(some)
        save(args.out / f"{name}.npz", tokenised(looked, weights))
        save_lookups(args.out / f"{name}_lookups.npz", lookups)
    _report(trained, kept, measured, lookups)


# -- what is trained on ------------------------------------------------------


def claims(
    mirror: Mirror, measured: Sequence[Answer], rng: random.Random, rules: random.Random
) -> tuple[list[Claim], list[Claim]]:
    """What is trained on, and what is kept for validation. ``rules`` draws what is made by rule."""
    clean = _Clean(measured)
    people = _distinct(one for one in labelled(mirror, rng) if clean(one))
    kept = _kept(people, rng)
    known = set(kept)
    away = {fingerprint(one.sentence) for one in kept if len(one.sentence) > _SHORTEST[0]}
    away_documents = {fingerprint(one.document) for one in kept if _is_long(one.document)}

    def fits(one: Claim) -> bool:
        return (
            clean(one)
            and fingerprint(one.sentence) not in away
            and fingerprint(one.document) not in away_documents
            and one not in known
        )

    left = list(filter(fits, people))
    documents: dict[Language, list[str]] = {
        "en": [one.document for one in left if one.source == "defacto"] + passages(mirror, "en"),
        "ru": passages(mirror, "ru"),
    }
    fitting = {
        language: [
            text
            for text in dict.fromkeys(texts)
            if clean.document(text) and fingerprint(text) not in away_documents
        ]
        for language, texts in documents.items()
    }
    trained = [*left, *filter(fits, made(left, fitting, rules))]
    rng.shuffle(trained)
    trained.sort(key=lambda one: one.fragments)  # like documents together: they are packed better
    return trained, kept


class _Clean:
    """Whether nothing of a claim is measured with."""

    def __init__(self, measured: Sequence[Answer]) -> None:
        texts = {text for one in measured for text in (one.text, *sentences_of(one.text))}
        self._sentences = {fingerprint(text) for text in texts if len(text) > _SHORTEST[0]}
        self._documents = {fingerprint(one.document) for one in measured if _is_long(one.document)}

    def __call__(self, one: Claim) -> bool:
        return fingerprint(one.sentence) not in self._sentences and self.document(one.document)

    def document(self, text: str) -> bool:
        return fingerprint(text) not in self._documents


def _is_long(document: str) -> bool:
    return len(document) > _SHORTEST[1]


def _distinct(found: Iterator[Claim] | Sequence[Claim]) -> list[Claim]:
    """The first of those that say the same of the same."""
    known: dict[tuple[str, ...], Claim] = {}
    for one in found:
        key = (fingerprint(one.document), fingerprint(one.sentence), one.question)
        known.setdefault(key, one)
    return list(known.values())


def _kept(people: Sequence[Claim], rng: random.Random) -> list[Claim]:
    by_source: dict[str, list[Claim]] = defaultdict(list)
    for one in people:
        by_source[f"{one.source} {one.language}"].append(one)
    return [
        one
        for name, found in by_source.items()
        for one in rng.sample(
            found, min(_KEPT.get(name.split()[0], _KEPT_OF_OTHERS), len(found) // 4)
        )
    ]


# -- prompts -------------------------------------------------------------------


def _rows(trained: Sequence[Claim], seed: int) -> Iterator[Row]:
    """On every core."""
    parts = [trained[start : start + _AT_ONCE] for start in range(0, len(trained), _AT_ONCE)]
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        for found in pool.map(_rows_of, parts, [f"{seed} {place}" for place in range(len(parts))]):
            yield from found


def _rows_of(part: Sequence[Claim], seed: str) -> list[Row]:
    rng = random.Random(seed)
    return [_row(one, rng) for one in part]


def _row(one: Claim, rng: random.Random) -> Row:
    asked, truth = _asked(one, rng)
    template: Language = "ru" if one.language == "ru" and rng.random() < _RUSSIAN_FRAME else "en"
    case = Case(asked, _fields(one.fragments, one.question, one.sentence), truth)
    name = f"claim_{one.source}"
    return Row(Made(name, "train", case, template), rng.choice(shown(case, template)), "", 0)


def _asked(one: Claim, rng: random.Random) -> tuple[Criteria, str]:
    """The question and its right answer."""
    if one.support != UNSUPPORTED and rng.random() < _THREE_WAY:
        return support_criteria(one.language), one.support
    positive, words = True, support_criteria(one.language).description
    if rng.random() > _PLAIN:
        positive = rng.random() < 0.6
        words = rng.choice(
            bank("questions")["claims"][one.language]["stated" if positive else "unstated"]
        )
    return _yes_no(words), "Yes" if one.supported == positive else "No"


def _kept_row(place: int, one: Claim) -> Row:
    case = _stated(one.fragments, one.question, one.sentence, one.supported, one.language)
    name = f"claim_{one.source}_{one.language}"
    (prompt,) = shown(case, "en")
    return Row(Made(name, "validation", case, "en"), prompt, name, place)


def _stated(
    fragments: Sequence[str],
    question: str,
    sentence: str,
    supported: bool,
    language: Language = "en",
) -> Case:
    asked = _yes_no(support_criteria(language).description)
    return Case(asked, _fields(fragments, question, sentence), "Yes" if supported else "No")


def _yes_no(words: str) -> Criteria:
    return replace(yes_no_criteria(words), to_evaluate_field="sentence")


def _fields(
    fragments: Sequence[str], question: str, sentence: str
) -> dict[str, str | Sequence[str]]:
    asked = {"user_input": question} if question else {}
    return {"contexts": list(fragments), **asked, "sentence": sentence}


# -- what is measured with -----------------------------------------------------


def look_up(measured: Sequence[Answer]) -> tuple[list[Row], Lookups]:
    """Every sentence of every answer in every chunk of its source.

    Without the question that is answered: sentences of answers are told better so, on a part of
    AttributionBench that nothing is measured with.
    """
    rows: list[Row] = []
    places: list[tuple[int, int]] = []
    sentence_count = 0
    for answer_place, one in enumerate(measured):
        for sentence in sentences_of(one.text):
            for chunk in chunks_of(one.document):
                case = _stated([chunk], "", sentence, one.supported)
                (prompt,) = shown(case, "en")
                made_of = Made(one.name, "held_out", case, "en")
                rows.append(Row(made_of, prompt, one.name, len(places)))
                places.append((answer_place, sentence_count))
            sentence_count += 1
    sets = list(dict.fromkeys(one.name for one in measured))
    groups = {name: place for place, name in enumerate(dict.fromkeys(a.group for a in measured))}
    found = np.array(places, np.int32)
    by_set = {name: [one for one in measured if one.name == name] for name in sets}
    scores = {name: iter(lexical(some)) for name, some in by_set.items()}
    return rows, Lookups(
        answer=found[:, 0],
        sentence=found[:, 1],
        name=np.array([sets.index(one.name) for one in measured], np.int16),
        supported=np.array([one.supported for one in measured]),
        group=np.array([groups[one.group] for one in measured], np.int32),
        lexical=np.stack([next(scores[one.name]) for one in measured]),
        names=np.array(sets),
    )


def _report(
    trained: Sequence[Claim], kept: Sequence[Claim], measured: Sequence[Answer], lookups: Lookups
) -> None:
    for name, found in (("trained", trained), ("kept for validation", kept)):
        counts = Counter((one.source, one.language) for one in found)
        true = Counter((one.source, one.language) for one in found if one.supported)
        print(f"{name}: {len(found)}")
        for key, count in sorted(counts.items()):
            print(f"  {key[0]} {key[1]} {count}, supported {true[key] / count:.2f}")
    sets = Counter(one.name for one in measured)
    print(f"measured with: {len(measured)} answers of {len(sets)} sets, {dict(sets)}")
    print(f"{len(lookups.answer)} lookups; none of these answers and sources is trained on")


if __name__ == "__main__":
    main()
