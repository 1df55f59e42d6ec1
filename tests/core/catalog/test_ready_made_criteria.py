"""The ready-made criteria: every file keeps the promises of the catalogue."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import pytest
import yaml

from adjudge.core.catalog.criteria import (
    all_names,
    criteria,
    criteria_names,
    entry,
    languages,
    languages_of,
    source,
)
from adjudge.core.catalog.entry import CatalogEntry, Kind
from adjudge.core.catalog.lint import lint
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Choice
from adjudge.core.prompts.languages import LANGUAGES
from adjudge.core.verdicts.reader import read as read_reply
from adjudge.errors import SetupError
from support.criteria_table import expected, written
from support.every import for_every

ENTRIES = [entry(name, language) for language in languages() for name in all_names(language)]
DIRECT = [found for found in ENTRIES if found.kind == "direct"]
PAIRWISE = [found for found in ENTRIES if found.kind == "pairwise"]
KNOWN = """
    answer_relevance context_relevance coherence fluency conciseness completeness groundedness
    factual_correctness harmfulness toxicity social_bias jailbreak profanity violence sexual_content
    unethical_behaviour self_harm privacy_leak prompt_injection refusal over_refusal
    instruction_following format_following summary_quality summary_faithfulness summary_coverage
    translation_adequacy translation_fluency reasoning_steps math_correctness code_correctness
    code_readability email_quality email_tone email_effectiveness politeness empathy formality
    readability creativity persuasiveness language_consistency citation_presence uncertainty_honesty
    helpfulness history_consistency tool_call_appropriateness
"""
EVALASSIST = """
    reasoning_completeness reasoning_conclusion reasoning_premises reasoning_steps email_structure
    email_quality email_tone email_effectiveness manipulation insensitivity naturalness objectivity
    engagement inclusivity humour
"""
AGENTS_AND_RAG = """
    goal policy tool_choice tool_call_appropriateness side_effect loop solved remembered in_role
    frustrated groundedness answer_relevance context_relevance answerability citation_accuracy
    citation_presence hallucination history_consistency
"""
LOWER_IS_BETTER = """
    frustrated hallucination harmfulness insensitivity jailbreak loop manipulation over_refusal
    privacy_leak profanity prompt_injection self_harm sexual_content side_effect social_bias
    sycophancy system_prompt_leak toxicity unethical_behaviour violence
"""


def label(found: CatalogEntry) -> str:
    return f"{found.language}-{found.criteria.name}"


each = for_every(ENTRIES, label)
each_direct = for_every(DIRECT, label)
each_pairwise = for_every(PAIRWISE, label)


def test_there_are_as_many_as_promised() -> None:
    assert len(criteria_names("direct")) >= 40
    assert len(criteria_names("pairwise")) >= 7
    assert languages() == LANGUAGES


def test_the_well_known_ones_are_there() -> None:
    assert set(KNOWN.split()) <= set(criteria_names())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("family", [EVALASSIST, AGENTS_AND_RAG], ids=["evalassist", "agents"])
def test_families_are_there_in_each_language(family: str, language: str) -> None:
    assert set(family.split()) <= set(criteria_names("direct", language))


def test_names_are_sorted_and_each_kind_has_its_own() -> None:
    assert sorted([*criteria_names("direct"), *criteria_names("pairwise")]) == list(all_names())


@each
def test_a_file_is_named_after_its_criteria(found: CatalogEntry) -> None:
    raw = yaml.safe_load(source(found.criteria.name, found.language))
    assert raw["name"] == found.criteria.name
    assert re.fullmatch("[a-z]+(_[a-z]+)*", found.criteria.name)
    assert raw["kind"] == found.kind


@each
def test_other_yaml_readers_read_the_same(found: CatalogEntry) -> None:
    """What our reader keeps as text, a plain one must not take for a truth value, a number or a
    date.
    """
    raw = yaml.safe_load(source(found.criteria.name, found.language))
    assert raw["description"] == found.criteria.description
    for read, example in zip(raw["examples"], found.criteria.examples, strict=True):
        assert read["option"] == example.option
        assert {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in read["fields"].items()
        } == example.fields
    if found.kind == "direct":
        assert [option["name"] for option in raw["options"]] == list(found.criteria.option_names)


@each
def test_nothing_is_found_in_our_own_files(found: CatalogEntry) -> None:
    known = [
        "some options have a score and some do not: verdicts without a score are left out of "
        "the mean"
    ]
    is_partly_graded = len(_graded(found.criteria)) < len(found.criteria.options)
    expected = known if is_partly_graded and found.kind == "direct" else []
    assert [finding.message for finding in lint(found.criteria)] == expected


@each
def test_each_asks_a_question_in_its_language(found: CatalogEntry) -> None:
    assert "?" in found.criteria.description
    texts = [found.criteria.description, *(option.description for option in found.criteria.options)]
    for text in texts:
        assert bool(re.search("[а-яё]", text)) == (found.language == "ru"), text


def _graded(criteria: Criteria) -> list[CriteriaOption]:
    """Options with a score; one without says that the judged text is not to blame."""
    graded = [option for option in criteria.options if option.score is not None]
    return graded or list(criteria.options)


@each_direct
def test_one_is_the_good_end_and_steps_are_even(found: CatalogEntry) -> None:
    scores = [option.score or 0.0 for option in _graded(found.criteria)]
    assert (scores[0], scores[-1]) == (1.0, 0.0), "best first"
    steps = {round(above - below, 9) for above, below in pairwise(scores)}
    assert len(steps) == 1
    assert all(option.description for option in found.criteria.options)


@each_direct
def test_no_option_hides_in_another(found: CatalogEntry) -> None:
    for one, other in combinations(map(str.casefold, found.criteria.option_names), 2):
        if f"not {one}" == other or f"не {one}" == other:
            continue  # a denial of the whole option: test_denied_options_are_read
        assert one not in other
        assert other not in one


@pytest.mark.parametrize("language", ["en", "ru"])
def test_denied_options_are_read(language: str) -> None:
    reached, _, denied = criteria("goal", language).option_names
    question = Choice((reached, "x", denied))
    for text in (
        denied,
        f"**{denied}**",
        f"Verdict: {denied}",
        f'{{"selected_option": "{denied}"}}',
    ):
        verdict = read_reply(Reply(text), question).verdict
        assert verdict and verdict.option == denied
    for text in (f"It is {denied.lower()}", f"The goal was {denied.lower()}."):
        assert read_reply(Reply(text), question).verdict is None, "asked again"


@each_direct
def test_the_golden_examples_are_one_of_each_end(found: CatalogEntry) -> None:
    good, bad = found.criteria.examples
    best, *_, worst = _graded(found.criteria)
    assert (good.option, bad.option) == (best.name, worst.name)
    assert good.explanation and bad.explanation


@each_pairwise
def test_the_golden_comparisons_have_one_winner_in_each_place(found: CatalogEntry) -> None:
    assert [example.option for example in found.criteria.examples] == ["A", "B"]
    for example in found.criteria.examples:
        assert len(set(example.fields["response"])) == 2
        assert example.explanation


@each_pairwise
def test_pairwise_criteria_choose_between_two_labels(found: CatalogEntry) -> None:
    assert found.criteria.option_names == ("A", "B")
    assert found.criteria.to_evaluate_field == "response"
    better = {"en": "Response A is better", "ru": "Ответ A лучше"}
    assert found.criteria.options[0].description == better[found.language]
    assert all(option.score is None for option in found.criteria.options)


@each
def test_examples_have_the_fields_that_are_read_and_no_others(found: CatalogEntry) -> None:
    read = {found.criteria.to_evaluate_field, *(found.criteria.context_fields or ())}
    assert found.criteria.context_fields is not None
    assert all(set(example.fields) == read for example in found.criteria.examples)
    assert all(text for example in found.criteria.examples for text in example.fields.values())


@for_every(criteria_names())
def test_which_is_the_better_direction(name: str) -> None:
    """Scores do not depend on it; it says what more of the named thing means."""
    assert criteria(name).higher_is_better == (name not in LOWER_IS_BETTER.split())


def shape(found: Criteria) -> object:
    places = [found.option_names.index(example.option) for example in found.examples]
    scores = [option.score for option in found.options]
    return scores, found.to_evaluate_field, found.context_fields, found.higher_is_better, places


def test_every_one_is_there_in_both_languages() -> None:
    assert all_names("ru") == all_names("en")


@for_every(all_names("ru"))
def test_russian_twins_have_the_same_shape(name: str) -> None:
    assert entry(name, "ru").kind == entry(name, "en").kind
    assert shape(criteria(name, "ru")) == shape(criteria(name, "en"))
    assert criteria(name, "ru").description != criteria(name, "en").description


def test_languages_of_one() -> None:
    assert languages_of("groundedness") == ["en", "ru"]
    assert languages_of("no_such") == []


@pytest.mark.parametrize(
    ("name", "language", "said"),
    [
        ("polite", "en", "'polite' in language 'en'; did you mean politeness"),
        ("polite", "ru", "'polite' in language 'ru'; did you mean politeness"),
        ("qqqqqq", "en", "`adjudge criteria` lists"),
        ("../en/politeness", "ru", "there is no ready-made criterion named '../en/politeness'"),
        ("politeness", "de", "in language 'de', only in en, ru"),
        ("politeness", "../en", "in language '../en'"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(name: str, language: str, said: str) -> None:
    with pytest.raises(SetupError, match=re.escape(said)):
        criteria(name, language)


@pytest.mark.parametrize("kind", ["direct", "pairwise"])
def test_the_kind_is_kept_beside_the_criteria(kind: Kind) -> None:
    assert {entry(name).kind for name in criteria_names(kind)} == {kind}


def test_the_table_in_the_documents_is_the_catalogue() -> None:
    """``PYTHONPATH=tests python tests/support/criteria_table.py`` writes it anew."""
    assert written() == expected()
