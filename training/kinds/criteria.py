"""The package's own criteria: its five aspects, its catalogue, the dimensions of RAG, and pairs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files

import yaml

from adjudge.core.catalog.aspects import aspect
from adjudge.core.catalog.criteria import all_names, entry
from adjudge.core.catalog.entry import pairwise_options
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.verdict import TIE
from training.kinds import crafts as c
from training.kinds import graded as g
from training.kinds import manners as m
from training.kinds import scenes
from training.kinds.base import Case, Draw, Kind, Language, Made
from training.kinds.facts import question
from training.kinds.pairs import compared
from training.texts import Contest, bank

_factual = m.by_tags(
    "news_fact definition statistic history chemistry ignorance context_missing",
    "",
    "speculation conspiracy guess",
)
ASPECTS: dict[str, g.Graded] = {
    "harmlessness": m.harmfulness,
    "conciseness": g.conciseness,
    "coherence": g.coherence,
    "completeness": g.completeness,
    "factuality": _factual,
}
CATALOGUE: dict[str, g.Graded] = {
    "answer_relevance": g.relevance,
    "answerability": g.answerable,
    "citation_accuracy": g.cited,
    "citation_presence": g.sourced,
    "clarity": g.fluency,
    "code_correctness": c.code,
    "code_readability": c.cryptic,
    "coherence": g.coherence,
    "completeness": g.completeness,
    "conciseness": g.conciseness,
    "context_relevance": g.answerable,
    "email_quality": c.email,
    "email_tone": m.by_tags("polite formal gentle", "cold casual", "rude insult impatient"),
    "empathy": m.by_tags(
        "sympathy encouragement gentle",
        "thanks_reply apology",
        "cold rude discouraging",
        asked=True,
    ),
    "factual_correctness": g.reference,
    "fluency": g.fluency,
    "formality": m.by_tags("formal", "neutral_tone news_fact", "casual"),
    "format_following": c.format_asked,
    "groundedness": g.groundedness,
    "hallucination": g.groundedness,
    "harmfulness": m.harmfulness,
    "helpfulness": g.helpfulness,
    "history_consistency": g.history,
    "instruction_following": g.instructed,
    "jailbreak": m.by_tags("question_asked request_made permission", "", "jailbreak injection"),
    "language_consistency": c.other_language,
    "math_correctness": c.arithmetic,
    "politeness": m.by_tags("polite gentle formal", "neutral_tone cold", "rude insult"),
    "privacy_leak": m.by_tags("refusal opening_hours definition", "", "pii", asked=True),
    "profanity": m.by_tags("polite formal neutral_tone news_fact", "", "profanity"),
    "prompt_injection": m.by_tags(
        "news_fact definition opening_hours description", "request_made", "injection"
    ),
    "refusal": m.refusal,
    "sexual_content": m.of_harm("S", "S3"),
    "self_harm": m.of_harm("SH"),
    "social_bias": m.by_tags("news_fact statistic comparison family", "", "stereotype hate"),
    "summary_coverage": g.coverage,
    "summary_faithfulness": g.summary,
    "system_prompt_leak": m.by_tags("refusal self_ai limits definition", "", "prompt_leak"),
    "toxicity": m.by_tags(
        "polite criticism disagreement news_fact",
        "rude sarcastic impatient",
        "insult hate threatening",
    ),
    "translation_adequacy": c.translation,
    "translation_fluency": g.fluency,
    "uncertainty_honesty": m.by_tags(
        "ignorance limits context_missing",
        "hedge",
        "confident_claim prediction conspiracy",
        asked=True,
    ),
    "unethical_behaviour": m.by_tags(
        "refuse_harm advice law professional", "", "crime_help plagiarism_help phishing"
    ),
    "violence": m.by_tags("news_fact history refuse_harm sport", "", "violence_threat"),
}
RAG: dict[str, tuple[g.Graded, int]] = {
    "answer_relevance": (g.relevance_four, 4),
    "clarity": (g.clarity_five, 5),
    "completeness": (g.completeness, 3),
    "conciseness": (g.conciseness, 3),
    "groundedness": (g.groundedness, 3),
    "harmfulness": (m.harmfulness, 3),
}
_NONE = {
    "en": {"history": "(there is no earlier conversation)", "contexts": "(nothing was retrieved)"},
    "ru": {"history": "(предыдущей беседы нет)", "contexts": "(ничего не найдено)"},
}


_IN_RUSSIAN = frozenset(
    [
        "answer_relevance",
        "code_correctness",
        "coherence",
        "completeness",
        "conciseness",
        "context_relevance",
        "email_quality",
        "factual_correctness",
        "fluency",
        "groundedness",
        "harmfulness",
        "helpfulness",
        "instruction_following",
        "jailbreak",
        "language_consistency",
        "politeness",
        "profanity",
        "reasoning_steps",
        "refusal",
        "social_bias",
        "summary_faithfulness",
        "toxicity",
        "translation_adequacy",
    ]
)
"""The catalogue's criteria that there are Russian texts for."""


def kinds() -> Iterator[Kind]:
    """All of them."""
    for name, texts in ASPECTS.items():
        yield Kind(f"aspect_{name}", _Aspect(name, texts), weight=4)
    for name, texts in CATALOGUE.items():
        known = tuple(one for one in _LANGUAGES if one == "en" or name in _IN_RUSSIAN)
        yield Kind(f"catalogue_{name}", _Catalogue(name, texts), weight=1.6, languages=known)
    for name, (texts, count) in RAG.items():
        yield Kind(f"rag_{name}", _Dimension(name, texts, count), weight=9)
    for name, texts in PAIRS.items():
        yield Kind(f"pair_{name}", _Pair(name, texts), weight=2.5)
    yield Kind("pair_preferred", _preferred, weight=2, languages=("en",))
    yield Kind("pair_letters", _pair_letters, weight=5)
    yield Kind("right_wrong_dangerous", _three_way, weight=6)


_LANGUAGES: tuple[Language, ...] = ("en", "ru")


@dataclass(frozen=True)
class _Aspect:
    name: str
    texts: g.Graded

    def __call__(self, draw: Draw) -> Case | None:
        holds = draw.rng.random() < 0.5
        made = self.texts(
            draw,
            2
            if holds
            else draw.rng.choice((0, 0, 1))
            if self.name in ("completeness", "conciseness")
            else 0,
        )
        options = (CriteriaOption("PASS", score=1.0), CriteriaOption("FAIL", score=0.0))
        criteria = Criteria(self.name, aspect(self.name, draw.language), options)
        return (
            Case(criteria, made.fields, "PASS" if holds else "FAIL", made.origin) if made else None
        )


@dataclass(frozen=True)
class _Catalogue:
    name: str
    texts: g.Graded

    def __call__(self, draw: Draw) -> Case | None:
        criteria = entry(self.name, draw.language).criteria
        scores = {option.score: option.name for option in criteria.options}
        level = draw.rng.choice([2, 2, 1, 0, 0] if 0.5 in scores else [2, 0])
        made = self.texts(draw, level)
        if made is None and level == 1:
            level = draw.rng.choice((0, 2))
            made = self.texts(draw, level)
        if made is None:
            return None
        return Case(criteria, _fitted(draw, criteria, made.fields), scores[level / 2], made.origin)


def _fitted(draw: Draw, criteria: Criteria, fields: Mapping[str, object]) -> dict[str, object]:
    """The fields that the criteria read, under the names they have there."""
    found = dict(fields)
    judged = criteria.to_evaluate_field
    if judged not in found:
        found[judged] = found.pop("response")
    usual = {"user_input": question(draw), "role": "A helpful assistant.", "tools": "search(query)"}
    missing = {
        name: usual.get(name, _NONE[draw.language].get(name, "–"))
        for name in criteria.context_fields or ()
        if name not in found
    }
    return missing | found


def _dimensions(language: Language) -> dict[str, Criteria]:
    """As the RAG evaluator has them."""
    data = yaml.safe_load(
        (files("adjudge") / "features" / "rag" / "data" / f"{language}.yaml").read_text(
            encoding="utf-8"
        )
    )
    return {one["name"]: _criteria(one) for one in data["dimensions"]}


def _criteria(about: Mapping[str, object]) -> Criteria:
    options = [CriteriaOption(one["name"], one["description"]) for one in about["options"]]  # type: ignore[attr-defined]
    return Criteria(
        str(about["name"]),
        str(about["description"]),
        options,
        context_fields=about["context_fields"],
    )  # type: ignore[arg-type]


_known_dimensions: dict[Language, dict[str, Criteria]] = {}


@dataclass(frozen=True)
class _Dimension:
    name: str
    texts: g.Graded
    count: int

    def __call__(self, draw: Draw) -> Case | None:
        known = _known_dimensions.setdefault(
            draw.language, _known_dimensions.get(draw.language) or _dimensions(draw.language)
        )
        criteria = known[self.name]
        level = draw.rng.choices(range(self.count), [2, *[1] * (self.count - 2), 2])[0]
        made = self.texts(draw, level)
        if made is None:
            return None
        if (
            draw.rng.random() < 0.25
        ):  # the same scale without its words, or another question to the same scale
            criteria = replace(
                criteria, options=[replace(one, description="") for one in criteria.options]
            )
        return Case(criteria, _fitted(draw, criteria, made.fields), str(level), made.origin)


# -- pairs ---------------------------------------------------------------------------

PAIRS: dict[str, g.Graded] = {
    "relevance": g.relevance,
    "instruction": scenes.followed_or_not,
    "groundedness": g.groundedness,
    "completeness": g.completeness,
    "conciseness": g.conciseness,
    "writing": g.clarity_five,
    "harmlessness": m.harmfulness,
    "reference": g.reference,
    "code": c.code,
    "summary": g.summary,
    "translation": c.translation,
    "helpfulness": g.helpfulness,
    "honesty": m.by_tags("ignorance hedge", "", "confident_claim conspiracy", asked=True),
}
_CATALOGUED = {
    "conciseness": "pairwise_conciseness",
    "reference": "pairwise_factual_accuracy",
    "harmlessness": "pairwise_harmlessness",
    "helpfulness": "pairwise_helpfulness",
    "instruction": "pairwise_instruction_following",
    "summary": "pairwise_summary_quality",
    "translation": "pairwise_translation_quality",
    "writing": "pairwise_writing_quality",
    "code": "pairwise_code_quality",
}


@dataclass(frozen=True)
class _Pair:
    name: str
    texts: g.Graded

    def __call__(self, draw: Draw) -> Case | None:
        better, worse = (4, draw.rng.choice((0, 1, 2))) if self.name == "writing" else (2, 0)
        seed = draw.rng.random()
        good, bad = (
            self.texts(replace(draw, rng=random.Random(seed)), level) for level in (better, worse)
        )
        if (
            good is None
            or bad is None
            or _shared(good) != _shared(bad)
            or good.fields["response"] == bad.fields["response"]
        ):
            return None
        return compared(
            draw,
            self._criteria(draw),
            _shared(good),
            (str(good.fields["response"]), str(bad.fields["response"])),
            1,
            good.origin,
        )

    def _criteria(self, draw: Draw) -> Criteria:
        catalogued = _CATALOGUED.get(self.name, "")
        if catalogued in all_names(draw.language) and draw.rng.random() < 0.4:
            return replace(entry(catalogued, draw.language).criteria, context_fields=None)
        options = pairwise_options(2, draw.language)
        return Criteria(
            self.name,
            draw.rng.choice(bank("questions")["pairs"][self.name][draw.language]),
            options,
        )


def _shared(made: Made) -> dict[str, object]:
    return {name: text for name, text in made.fields.items() if name != "response"}


def _contest(draw: Draw, found: list[Contest]) -> Contest | None:
    chosen = draw.rng.choice(found)
    return chosen if chosen.label and chosen.responses[0] != chosen.responses[1] else None


def _preferred(draw: Draw) -> Case | None:
    """Which one people preferred."""
    records = draw.world.of(draw.fresh)
    name, pool = draw.rng.choice(
        (
            ("helpfulness", records.contests),
            ("relevance", records.contests),
            ("harmlessness", records.harmless),
        )
    )
    contest = _contest(draw, pool)
    if contest is None:
        return None
    criteria = Criteria(
        name, draw.rng.choice(bank("questions")["pairs"][name]["en"]), pairwise_options(2, "en")
    )
    return compared(
        draw,
        criteria,
        {"user_input": contest.request},
        contest.responses,
        contest.label,
        contest.origin,
    )


def _pair_letters(draw: Draw) -> Case | None:
    """The same comparisons as an option list over fields "Response A" and "Response B"."""
    human = draw.language == "en" and draw.rng.random() < 0.4
    made = _preferred(draw) if human else _Pair(*draw.rng.choice(list(PAIRS.items())))(draw)
    if made is None or made.truth == TIE:
        return None
    first, second = made.fields["response"]
    options = [CriteriaOption(label, text) for label, text in _BETTER[draw.language]]
    criteria = Criteria(
        "better", made.criteria.description, options, to_evaluate_field="Response B"
    )
    shared = {name: text for name, text in made.fields.items() if name != "response"}
    return Case(
        criteria, {**shared, "Response A": first, "Response B": second}, made.truth, made.origin
    )


_BETTER: dict[str, tuple[tuple[str, str], ...]] = {
    "en": (("A", "Response A is better"), ("B", "Response B is better")),
    "ru": (("A", "Ответ A лучше"), ("B", "Ответ B лучше")),
}


# -- three ways ------------------------------------------------------------------------


def _three_way(draw: Draw) -> Case | None:
    """Right or wrong by the context, or dangerous whatever it says."""
    place = draw.rng.randrange(3)
    made = scenes.three_ways(draw, place) if draw.rng.random() < 0.7 else _by_rule(draw, place)
    if made is None or "user_input" not in made.fields:
        return None
    names = draw.rng.choice(bank("questions")["three_ways"][draw.language])
    criteria = Criteria(
        "three",
        draw.rng.choice(bank("questions")["three_way_questions"][draw.language]),
        [CriteriaOption(name) for name in names],
    )
    return Case(criteria, made.fields, names[place], made.origin)


def _by_rule(draw: Draw, place: int) -> Made | None:
    made = g.groundedness(draw, 2 if place == 0 else 0)
    harmful = m.by_tags("", "", "crime_help dangerous_advice hate violence_threat insult")(draw, 0)
    if made is None or harmful is None:
        return None
    return (
        made
        if place < 2
        else Made({**made.fields, "response": harmful.fields["response"]}, made.origin)
    )
