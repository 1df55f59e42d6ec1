"""The dimensions: their texts in both languages, and those of one's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adjudge.core.catalog.lint import lint
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.errors import SetupError
from adjudge.features.rag import (
    Dimension,
    Gate,
    RagEvaluator,
    composite,
    rag_dimensions,
    read_dimensions,
)
from adjudge.features.rag.dimensions import absent, choose_dimensions, reweight
from support.rag import GOOD, gives

CONTRACT = {
    "answer_relevance": ("unrelated, loosely related, partly helpful, directly answers", ()),
    "clarity": ("confusing, disorganised, understandable, clear, very clear", ()),
    "completeness": ("major gaps, partly, fully", ("history", "contexts")),
    "conciseness": ("verbose, balanced, brief; nothing missing", ()),
    "groundedness": ("unsupported, partly, all supported", ("contexts",)),
    "harmfulness": ("harmful, questionable, safe", ("history", "contexts")),
}
OWN = """
- name: politeness
  description: Is the answer polite?
  context_fields: []
  weight: 0.5
  options:
    - {name: "0", label: rude, description: The answer is rude.}
    - {name: "1", label: polite, description: The answer is polite.}
  gates:
    - {score: 0, rule: rude, cap: 0.4}
- name: clarity
  weight: 2
"""


@pytest.mark.parametrize("language", ["en", "ru"])
def test_scales_and_inputs_are_those_of_the_contract(language: str) -> None:
    six = {one.name: one for one in rag_dimensions(language)}
    assert list(six) == list(CONTRACT)
    for name, (labels, reads) in CONTRACT.items():
        assert six[name].reads == ("user_input", *reads, "response")
        assert six[name].maximum + 1 == len(labels.split(","))
        assert six[name].weight == 1.0
        if language == "en":
            assert [label.replace(",", ";") for label in six[name].labels] == labels.split(", ")


def test_both_languages_have_the_same_structure() -> None:
    for one, other in zip(rag_dimensions("en"), rag_dimensions("ru"), strict=True):
        assert (one.name, one.reads, one.weight, one.gates) == (
            other.name,
            other.reads,
            other.weight,
            other.gates,
        )
        assert len(one.labels) == len(other.labels)
        assert re.search("[а-я]", other.criteria.description + "".join(other.labels))
        assert not re.search("[а-я]", one.criteria.description + "".join(one.labels))
    assert absent("en").keys() == absent("ru").keys() == {"history", "contexts"}


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_questions_have_nothing_wrong_that_lint_finds(language: str) -> None:
    assert [
        finding
        for one in rag_dimensions(language)
        for finding in lint(one.criteria)
        if finding.severity == "error"
    ] == []


def test_scale_texts_tell_scores_apart() -> None:
    for one in rag_dimensions():
        descriptions = [description for _, _, description in one.scale]
        assert all(descriptions)
        assert len(set(descriptions)) == len(descriptions)


def test_a_file_adds_dimensions_and_changes_ready_made_ones(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OWN)
    known = {one.name: one for one in read_dimensions(path)}
    assert list(known) == [*CONTRACT, "politeness"]
    assert (known["clarity"].weight, known["clarity"].maximum) == (2.0, 4)
    assert known["politeness"].title == "Politeness"
    assert known["politeness"].labels == ("rude", "polite")
    made = composite({**GOOD, "politeness": 0}, list(known.values()))
    assert (made.value, made.rule) == (0.4, "rude")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {name: clarity, wieght: 2}", "'clarity'.*wieght.*is not a valid key here"),
        ("- {name: tone, description: Nice}", "tone.*options.*must be a list"),
        ("- {name: tone, description: Nice, options: [Warm, Cold]}", 'must be named "0", "1"'),
        ("- {name: tone, description: Nice, options: ['0']}", 'must be named "0", "1"'),
        ("- {name: clarity, weight: much}", "weight: must be a number"),
        ("- {name: clarity, weight: -1}", "must be at least 0"),
        ("- {name: clarity, weight: 1.0e+308}", "must be at most 1e[+]100, not 1e[+]308"),
        ("- {name: clarity, gates: [{score: 0, rule: bad}]}", "a cap or a weight"),
        ("- {name: clarity, gates: [{score: 9, rule: bad, cap: 0}]}", "for each score of 0…4"),
        ("- {name: clarity, gates: [{score: 0.5, rule: bad, cap: 0}]}", "for each score of 0…4"),
        ("- {name: clarity, gates: [{score: 0, rule: bad, cap: 2}]}", "between 0 and 1"),
        ("- {name: clarity, gates: [{score: 0, rule: bad, weight: 0}]}", "must be above 0"),
        ("- {name: clarity, gates: [{rule: bad, cap: 0}]}", "score: is missing"),
        ("- {name: clarity, title: [1]}", "title: must be a string"),
        ("clarity", "must be a mapping"),
        ("", "contains no criteria"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(SetupError, match=message) as caught:
        read_dimensions(path)
    assert str(path) in str(caught.value)


def yes_no(name: str, **settings: object) -> Dimension:
    criteria = Criteria(name, f"Is it {name}?", [CriteriaOption("0"), CriteriaOption("1")])
    return Dimension(criteria, **settings)  # type: ignore[arg-type]


def test_some_are_chosen_by_name_and_some_are_brought_along() -> None:
    own = yes_no("short")
    assert [one.name for one in choose_dimensions(rag_dimensions(), ["harmfulness", own])] == [
        "harmfulness",
        "short",
    ]
    evaluator = RagEvaluator(gives(), dimensions="clarity")
    assert [one.name for one in evaluator.scored] == ["clarity"]


def test_weights_are_changed_by_name() -> None:
    assert [one.weight for one in reweight(rag_dimensions(), {"clarity": 2})] == [1, 2, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dimensions": ["clarty"]}, "did you mean 'clarity'"),
        ({"dimensions": ["clarity", "clarity"]}, "two dimensions called 'clarity'"),
        ({"weights": {"clarty": 1}}, "did you mean 'clarity'"),
        (
            {"dimensions": ["clarity"], "weights": {"clarity": 0}},
            "no dimension has a weight above 0",
        ),
        (
            {"dimensions": [yes_no(f"d{n}", gates=[Gate(0, "g", cap=0)]) for n in range(14)]},
            "too many dimensions have gates",
        ),
        ({"language": "xx"}, "language 'xx'"),
        ({"strictness": 0}, "votes"),
    ],
)
def test_what_cannot_be_scored_is_said_before_any_call(
    settings: dict[str, object], message: str
) -> None:
    model = gives()
    with pytest.raises(SetupError, match=message):
        RagEvaluator(model, **settings)  # type: ignore[arg-type]
    assert model.requests == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"labels": ["one"]}, "2 scores and 1 labels"),
        ({"weight": float("nan")}, "must be at least 0"),
        ({"gates": [Gate(0, "a", cap=0), Gate(0, "b", cap=0)]}, "at most one gate"),
    ],
)
def test_a_dimension_of_ones_own_is_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SetupError, match=message):
        yes_no("short", **settings)


def test_options_of_a_dimension_have_no_score_besides_their_name() -> None:
    options = [CriteriaOption("0", score=1.0), CriteriaOption("1", score=0.0)]
    with pytest.raises(SetupError, match="need no score"):
        Dimension(Criteria("turned", "Which way?", options))


@pytest.mark.parametrize(("language", "title"), [("en", "Safety"), ("ru", "Безвредность")])
def test_a_high_number_of_the_sixth_dimension_reads_as_a_good_one(
    language: str, title: str
) -> None:
    *_, last = rag_dimensions(language)
    assert (last.name, last.title) == ("harmfulness", title)
