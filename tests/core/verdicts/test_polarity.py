"""Which end of a two-way question a reply means: yes goes by the options' names, pass by their
scores.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import Criteria, CriteriaOption, DirectJudge, Instance, ScriptedModel
from adjudge.core.catalog.criteria import criteria
from adjudge.core.domain.message import Reply
from adjudge.core.domain.options import match_option
from adjudge.core.domain.question import question_of
from adjudge.core.domain.vote import Ballot
from adjudge.core.verdicts.reader import read_ballot

YES, NO = (
    ("yes", "Yes.", "true", "TRUE", "да"),
    ("no", "No!", "false", "False", "нет"),
)
PASS, FAIL = ("pass", "PASS", "Passed."), ("fail", "FAIL", "«Failed»")


def said(text: str, *options: tuple[str, float | None]) -> str | None:
    asked = Criteria("c", "d?", [CriteriaOption(name, score=score) for name, score in options])
    verdict = read_ballot(
        Reply(text), Ballot(asked, Instance({"response": "x"}), question_of(asked), "direct", "m")
    ).verdict
    return verdict.option if verdict else None


@pytest.mark.parametrize(
    "reply",
    [
        '{"verdict": "FAIL"}',
        '{"pass": false}',
        "Verdict: FAIL",
        '{"pass": "no"}',
        "Pass: no",
        "FAIL",
        "PASS",
        "Pass: yes",
    ],
)
def test_a_hallucination_is_never_read_out_of_pass_or_fail_but_asked_for_again(reply: str) -> None:
    """Yes is 0 and No is 1 there: FAIL was read as No = 1.0 and PASS as Yes = 0.0."""
    model = ScriptedModel([reply, '{"explanation": "It is made up.", "selected_option": "Yes"}'])
    instance = Instance(
        {
            "response": "The moon is cheese.",
            "user_input": "?",
            "context": "Rock.",
            "contexts": "Rock.",
        }
    )
    (result,) = DirectJudge(model)([instance], criteria("hallucination"))
    assert (result.option, result.score) == ("Yes", 0.0)
    assert len(model.requests) == 2


@pytest.mark.parametrize("word", [*PASS, *FAIL])
def test_pass_and_fail_stand_for_the_better_and_the_worse_scored_option_whatever_their_order(
    word: str,
) -> None:
    good, bad = ("Civil", 1.0), ("Abusive", 0.0)
    wanted = "Civil" if word in PASS else "Abusive"
    assert said(word, good, bad) == said(word, bad, good) == wanted
    assert said(word, ("Low", -5.0), ("High", 3.0)) == ("High" if word in PASS else "Low")
    assert said(word, ("0", None), ("1", None)) == ("1" if word in PASS else "0")
    assert said(word, ("Yes", 1.0), ("No", 0.0)) == ("Yes" if word in PASS else "No")


@pytest.mark.parametrize("word", [*PASS, *FAIL])
@pytest.mark.parametrize(
    "options",
    [
        (("Yes", 0.0), ("No", 1.0)),
        (("Да", 0.0), ("Нет", 1.0)),
        (("Yes", None), ("No", None)),
        (("Yes", 1.0), ("No", None)),
        (("No", 1.0), ("Somewhat", 0.0)),
        (("Yes", 0.0), ("Hardly", 1.0)),
        (("Good", 1.0), ("Bad", 1.0)),
        (("Good", None), ("Bad", None)),
        (("Good", 1.0), ("Fair", 0.5), ("Bad", 0.0)),
    ],
)
def test_pass_is_unreadable_where_the_names_say_otherwise_or_scores_are_missing(
    word: str, options: Any
) -> None:
    assert said(word, *options) is None
    assert said(json.dumps({"verdict": word}), *options) is None


@pytest.mark.parametrize("word", [*YES, *NO])
def test_yes_and_no_stand_for_the_options_that_are_called_so_whatever_they_score(word: str) -> None:
    for yes, no in (("Yes", "No"), ("True", "False"), ("Да", "Нет"), ("верно", "неверно")):
        for scores in ((1.0, 0.0), (0.0, 1.0), (None, None)):
            options = ((yes, scores[0]), (no, scores[1]))
            assert (
                said(word, *options) == said(word, *options[::-1]) == (yes if word in YES else no)
            )
    assert said(word, ("Good", 1.0), ("Bad", 0.0)) is None


def test_yes_means_pass_where_the_options_are_pass_and_fail() -> None:
    assert (
        said("yes", ("PASS", 1.0), ("FAIL", 0.0))
        == said("yes", ("PASS", None), ("FAIL", None))
        == "PASS"
    )
    assert said("false", ("PASS", 1.0), ("FAIL", 0.0)) == "FAIL"
    assert said("yes", ("PASS", 0.0), ("FAIL", 1.0)) is None
    assert said("PASS", ("PASS", 0.0), ("FAIL", 1.0)) == "PASS"


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ('{"pass": true}', "Civil"),
        ('{"pass": false}', "Abusive"),
        ('{"pass": "Yes"}', "Civil"),
        ('{"pass": "Abusive"}', "Abusive"),
        ("Pass: no", "Abusive"),
        ('{"verdict": true}', None),
        ('{"verdict": "yes"}', None),
        ('{"verdict": "Civil", "pass": false}', None),
        ('{"verdict": "Abusive", "pass": false}', "Abusive"),
    ],
)
def test_the_key_pass_asks_for_the_good_end_whatever_the_options_are_called(
    text: str, option: str | None
) -> None:
    assert said(text, ("Abusive", 0.0), ("Civil", 1.0)) == option


def test_a_verdict_is_kept_beside_a_pass_that_cannot_be_told() -> None:
    assert said('{"verdict": "Yes", "pass": false}', ("Yes", 0.0), ("No", 1.0)) == "Yes"


names = st.sampled_from(
    [
        "Yes",
        "No",
        "TRUE",
        "false",
        "Да",
        "нет",
        "Pass",
        "FAIL",
        "passed",
        "Good",
        "Bad",
        "1",
        "0",
        "yes.",
    ]
)
scores = st.sampled_from([None, 0.0, 0.5, 1.0])


@given(
    st.lists(names, min_size=1, max_size=3, unique=True),
    st.data(),
    st.sampled_from([*YES, *NO, *PASS, *FAIL]),
)
def test_no_word_ever_stands_for_the_other_end(
    options: list[str], data: st.DataObject, word: str
) -> None:
    points = [data.draw(scores) for _ in options]
    found = match_option(word, options, points)
    if found is None or found.casefold().strip(".") == word.casefold().strip(".!«»"):
        return
    others = [option for option in options if option != found]
    score, against = points[options.index(found)], points[options.index(others[0])]
    good = found.casefold().strip(".") in {"yes", "true", "да", "pass", "passed"}
    bad = found.casefold().strip(".") in {"no", "false", "нет", "fail"}
    assert (word in (*YES, *PASS)) is good or (not good and not bad)
    if (
        len(others) == 1
        and word in (*PASS, *FAIL)
        and score is not None
        and against is not None
        and score != against
    ):
        assert (score > against) is (word in PASS)
    if word in (*YES, *NO):
        assert good or bad
