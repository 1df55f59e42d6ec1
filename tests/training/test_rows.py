"""What is trained on: deterministic, balanced, broad, and without a trace of
what is measured with.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from training.kinds import claims, scenes
from training.kinds.bank import TRAINED as TRAINED_BANKS
from training.kinds.base import Draw
from training.parallel import sentences, templates, words
from training.prompts import neutral, shown
from training.rows import all_kinds, held_out_names, rows
from training.texts import World, alike, bank, expand, for_validation
from training.wordings import ask, third

from adjudge import (
    AspectCritic,
    DirectJudge,
    EvidenceJudge,
    Instance,
    PairwiseJudge,
    Reply,
    Request,
    ScriptedModel,
)
from adjudge.core.engine.likelihood import likelihood_requests
from adjudge.features.evidence.sentences import sentences as sentences_of
from training import rows as builder


@cache
def every_kind() -> list[Any]:
    return all_kinds()


def trained_kinds() -> list[Any]:
    return [kind for kind in every_kind() if kind.role == "train"]


@cache
def few() -> list[Any]:
    others = [kind for kind in every_kind() if kind.role != "train"]
    return [*trained_kinds()[::30], *others[::12]]


@pytest.fixture(scope="module")
def made(world: World) -> list[builder.Row]:
    """Rows of a few kinds, made once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "all_kinds", few)
        return rows(world, 80, 1)


def draw(
    world: World, seed: int = 0, language: Any = "en", fresh: bool = False, **more: Any
) -> Any:
    return Draw(world, random.Random(seed), language, fresh, **more)


def cases(world: World, kind: Any, count: int, language: str = "en") -> Any:
    made = (kind.make(draw(world, seed, language)) for seed in range(3 * count))
    return [case for case in made if case is not None][:count]


def test_the_same_seed_makes_the_same_rows(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "all_kinds", lambda: few()[::4])
    one, again, other = (rows(world, 8, seed) for seed in (1, 1, 2))
    assert [row.shown for row in one] == [row.shown for row in again]
    assert [row.shown for row in one] != [row.shown for row in other]


def test_there_are_many_kinds_and_every_one_makes_cases(world: World) -> None:
    assert len(trained_kinds()) >= 150
    assert len({kind.name for kind in every_kind()}) == len(every_kind())
    for number, kind in enumerate(every_kind()):
        for language in kind.languages:
            made = (
                kind.make(draw(world, seed, language, fresh=bool((number + seed) % 2)))
                for seed in range(25)
            )
            assert any(made), (kind.name, language)


def test_every_answer_kind_is_there_and_pairs_come_in_both_orders(world: World) -> None:
    answers: Counter[tuple[str, str]] = Counter()
    trained = trained_kinds()
    for kind in trained[::9] + [kind for kind in trained if kind.name.startswith(("pair", "rag"))]:
        answers.update(
            (one.answer, one.tokens[one.truth])
            for case in cases(world, kind, 3)
            for one in shown(case, "en")
        )
    for wanted in [
        ("yes_no", "Yes"),
        ("yes_no", "No"),
        ("letter", "A"),
        ("letter", "B"),
        ("number", "0"),
        ("number", "2"),
        ("pair", "A"),
        ("pair", "B"),
        ("pair", "C"),
    ]:
        assert answers[wanted], wanted


@pytest.mark.parametrize(
    "name",
    ["apology", "polite", "cooking", "grounded", "has_date", "says_company_founded", "price"],
)
def test_yes_and_no_are_as_frequent_and_as_long(world: World, name: str) -> None:
    kind = next(kind for kind in every_kind() if kind.name == name)
    lengths = defaultdict(list)
    for case in cases(world, kind, 300):
        lengths[case.truth].append(sum(len(str(text).split()) for text in case.fields.values()))
    shares = {truth: len(found) / 300 for truth, found in lengths.items()}
    assert 0.38 < shares["Yes"] < 0.62, shares
    means = {truth: sum(found) / len(found) for truth, found in lengths.items()}
    assert 0.8 < means["Yes"] / means["No"] < 1.25, means


def test_held_out_kinds_were_chosen_beforehand_and_are_not_trained(made: list[builder.Row]) -> None:
    named = held_out_names()
    assert len(named) >= 30
    assert sorted(named) == sorted(kind.name for kind in every_kind() if kind.role == "held_out")
    trained = {row.made.kind for row in made if row.made.split == "train"}
    assert trained and not trained & {kind.name for kind in every_kind() if kind.role != "train"}


def test_no_phrase_and_no_sentence_of_held_out_kinds_is_in_the_trained_banks() -> None:
    trained = [entry for name in TRAINED_BANKS for entry in bank(name).values()]
    phrases = {
        phrase
        for entry in trained
        for phrase in str(entry.get("en", entry.get("what"))).split(" | ")
    }
    sentences = {text for entry in trained for text in (*entry["texts"], *entry["тексты"])}
    for entry in [*bank("held_out").values(), *bank("tuning").values()]:
        assert not phrases & set(str(entry.get("en", entry.get("what"))).split(" | "))
        assert not sentences & {*entry["texts"], *entry["тексты"]}


def test_validation_sees_other_texts_than_training(made: list[builder.Row]) -> None:
    trained = {row.shown.prompt.text for row in made if row.made.split == "train"}
    measured = {row.shown.prompt.text for row in made if row.made.split != "train"}
    assert measured and not trained & measured


def test_only_files_that_may_be_trained_on_are_read(world: World, records: Path) -> None:
    """The folder holds just these, and no completion by a model whose makers forbid it is kept."""
    assert sorted(path.name for path in records.rglob("*.jsonl")) == [
        "hh_harmless_half.jsonl",
        "mbpp.jsonl",
        "moderation_train.jsonl",
        "pandalm.jsonl",
        "xstest.jsonl",
    ]
    said = [pair.response for side in (world.trained, world.fresh) for pair in side.refusals]
    assert said and all(text.startswith("mistralinstruct") for text in said)


def test_both_polarities_questions_and_statements_in_both_languages() -> None:
    rng = random.Random(3)
    for language, phrases in (
        ("en", ["mention a price", "be polite"]),
        ("ru", ["называет цену", "вежлив"]),
    ):
        found = [ask(rng, phrases, language) for _ in range(300)]
        assert {one.positive for one in found} == {True, False}
        assert any("?" in one.text for one in found) and any("?" not in one.text for one in found)
        assert len({one.text for one in found}) > 30
        negative = re.compile(r"\bnot\b|Nowhere|\bне |Не |Неверно|Нельзя")
        first_sentences = [(re.split(r"(?<=[.?]) ", one.text)[0], one.positive) for one in found]
        assert all(bool(negative.search(text)) != positive for text, positive in first_sentences)


def test_equal_choices_make_a_text_and_its_translation() -> None:
    english, russian = (
        "[A cat|A dog] saw {name} [twice|at {time}].",
        "[Кошку|Собаку] {имя} видит [дважды|в {time}].",
    )
    assert alike(english, russian)
    made = {
        tuple(expand(random.Random(seed), text) for text in (english, russian))
        for seed in range(200)
    }
    assert all(
        ("cat" in one) == ("Кошку" in other) and ("twice" in one) == ("дважды" in other)
        for one, other in made
    )
    assert all(("Anna" in one) == ("Анна" in other) for one, other in made) and len(made) > 30
    assert (
        not alike("[a|b] c", "[а|б|в] г")
        and not alike("{name}", "{город}")
        and not alike("[{n}|two]", "[два|{n}]")
    )


def test_there_are_many_translations_of_words_and_sentences_and_none_of_what_is_measured() -> None:
    assert len(templates()) > 5000 and len(words()) > 3000
    kept = {text for text, _ in templates()}
    for entry in [*bank("held_out").values(), *bank("tuning").values()]:
        assert not kept & set(entry["texts"])
    for name in ("passages", "dangers", "instructions", "followups"):
        fresh = [entry for key, entry in bank(name).items() if for_validation(key)]
        assert fresh and not any(
            kept & set(entry["en"].get("told") or entry["en"]["ask"]) for entry in fresh
        )


@pytest.mark.parametrize("name", ["passages", "dangers", "instructions", "followups"])
def test_scenes_say_the_same_in_both_languages(name: str) -> None:
    def shape(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: shape(value) for key, value in part.items()}
        return [shape(one) for one in part] if isinstance(part, list) else "text"

    for key, entry in bank(name).items():
        assert shape(entry["en"]) == shape(entry["ru"]), key


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize(
    "graded",
    [
        *(
            scenes.grounded,
            scenes.contradicting,
            scenes.relevant,
            scenes.complete,
            scenes.summed_up,
            scenes.answerable,
        ),
        *(
            scenes.referred,
            scenes.endangering,
            scenes.sound,
            scenes.followed,
            scenes.followed_or_not,
        ),
        *(
            scenes.followed_up,
            scenes.followed_up_in_part,
            scenes.followed_up_truly,
            scenes.followed_up_briefly,
        ),
    ],
)
def test_good_and_bad_texts_of_a_scene_differ_only_in_the_answer(
    world: World, graded: Any, language: str
) -> None:
    """Pairs and thresholds need it: the same draw gives the same question and context whatever the
    level.
    """
    compared = 0
    for seed in range(60):
        good, bad = (graded(draw(world, seed, language), level) for level in (2, 0))
        if good and bad and "response" in good.fields:
            shared = [
                {name: text for name, text in one.fields.items() if name != "response"}
                for one in (good, bad)
            ]
            assert shared[0] == shared[1]
            compared += good.fields["response"] != bad.fields["response"]
    assert compared > 40 or graded is scenes.answerable


def test_third_person() -> None:
    assert [
        third(phrase)
        for phrase in ("be rude", "have a title", "apologise", "try it", "express joy", "say so")
    ] == [
        "is rude",
        "has a title",
        "apologises",
        "tries it",
        "expresses joy",
        "says so",
    ]


# -- the prompts are the package's -----------------------------------------------


def says(request: Request) -> Any:
    return Reply("A", logprobs=(dict.fromkeys(request.labels, -1.0),))


def case_of(world: World, name: str, **wanted: Any) -> Any:
    kind = next(kind for kind in trained_kinds() if kind.name == name)
    return next(
        case
        for case in cases(world, kind, 20)
        if all(getattr(case, key) == value for key, value in wanted.items())
    )


def test_an_aspect_is_asked_as_the_critic_asks_it(world: World) -> None:
    case, model = case_of(world, "aspect_completeness"), ScriptedModel(says)
    AspectCritic.completeness(model, mode="likelihood").evaluate(Instance(case.fields))
    assert [request.prompt for request in model.requests] == [
        one.prompt for one in shown(case, "en")
    ]


def test_catalogue_criteria_are_asked_as_the_direct_judge_asks_them(world: World) -> None:
    case, model = case_of(world, "catalogue_groundedness"), ScriptedModel(says)
    DirectJudge(model, mode="likelihood").evaluate([Instance(case.fields)], case.criteria)
    assert [request.prompt for request in model.requests] == [
        one.prompt for one in shown(case, "en")
    ]


def test_pairs_are_asked_as_the_pairwise_judge_asks_them(world: World) -> None:
    case, model = case_of(world, "pair_relevance", offered=("A", "B", "tie")), ScriptedModel(says)
    PairwiseJudge(model, mode="likelihood", check_positional_bias=False).evaluate(
        [Instance(case.fields)], case.criteria
    )
    assert [request.prompt for request in model.requests] == [
        one.prompt for one in shown(case, "en")
    ]


def test_letters_are_asked_in_both_orders_and_neutral_texts_in_the_same_words(world: World) -> None:
    case = case_of(world, "catalogue_groundedness")
    first, second = shown(case, "en")
    assert (
        first.tokens == second.tokens == ("A", "B", "C")
        and first.truth == 2 - second.truth
        and second.reversed
    )
    calm = neutral(case, "en")
    assert len(calm) == 16 and {one.truth for one in calm} == {-1}
    assert {one.prompt.shared_text for one in calm} == {
        first.prompt.shared_text,
        second.prompt.shared_text,
    }


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_text_says_a_thing_when_it_has_the_translation(world: World, language: str) -> None:
    here = int(language == "ru")
    known = {pair[here].rstrip("."): pair for pair in sentences()}
    kind = next(kind for kind in every_kind() if kind.name == "says_a_thing")
    truths: Counter[Any] = Counter()
    for case in cases(world, kind, 80, language):
        quoted = max((one for one in known if one in case.criteria.description), key=len)
        negated = re.search(
            r"(?i)\bnot\b|nowhere|\bне\b|неверно|нельзя",
            case.criteria.description.partition(quoted)[0],
        )
        there = known[quoted][1 - here] in case.fields["response"]
        assert (case.truth == "Yes") == (there != bool(negated)), case
        truths[case.truth] += 1
    assert min(truths.values()) > 24


@pytest.mark.parametrize("language", ["en", "ru"])
def test_claims_are_asked_as_the_evidence_judge_asks_them(world: World, language: Any) -> None:
    (kind,) = [one for one in every_kind() if one.name == "claim_support"]
    found = cases(world, kind, 12, language)
    assert {case.truth for case in found} == {"supported", "contradicted", "not found"}
    judge = EvidenceJudge(
        ScriptedModel("{}", name="local/judge"), language=language, mode="generate"
    )
    for case in found:
        (sentence,) = sentences_of(str(case.fields["sentence"]))[:1]
        item = Instance(
            {
                **{name: text for name, text in case.fields.items() if name != "sentence"},
                "response": sentence.text,
            }
        )
        (ballot,) = judge.plan(item, [])
        asked = [
            request.prompt.text
            for _, request in likelihood_requests(replace(ballot, mode="likelihood"))
        ]
        whole = replace(case, fields={**case.fields, "sentence": sentence.text})
        assert [one.prompt.text for one in shown(whole, language)] == asked


def test_a_miscounted_sentence_has_another_number(world: World) -> None:
    told = ["The bridge is 300 metres long.", "It was built by hand."]
    (wrong,) = claims._miscounted(random.Random(1), told)
    assert re.sub(r"\d+", "", wrong) == re.sub(r"\d+", "", told[0])
    assert wrong != told[0]
