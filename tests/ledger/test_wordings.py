"""Runs that began with a text that ready-made criteria have worded anew since."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from adjudge.catalog.earlier import earlier_texts
from adjudge.domain.criteria import Criteria, CriteriaOption
from adjudge.domain.instance import Instance
from adjudge.domain.question import Choice
from adjudge.domain.vote import Ballot
from adjudge.ledger.changes import differences
from adjudge.ledger.ledger import key_of
from adjudge.ledger.rows import as_begun, earlier_in, wordings_in
from adjudge.rag import RagEvaluator, rag_dimensions

NOW, (BEFORE, *_) = next(iter(earlier_texts().items()))


def configuration(*texts: str) -> Mapping[str, object]:
    options = [{"name": str(number), "description": text} for number, text in enumerate(texts)]
    return {
        "judges": {
            "rag": {
                "dimensions": {"d": {"criteria": {"options": options}}},
                "templates": {"direct.jinja": "1"},
            }
        }
    }


def ballot(*texts: str) -> Ballot:
    options = [CriteriaOption(str(number), text) for number, text in enumerate(texts)]
    return Ballot(
        Criteria("c", "Is it short?", options),
        Instance({"response": "x"}),
        Choice(("0", "1")),
        "direct",
        "m",
    )


def test_a_run_finds_its_answers_by_the_text_it_began_with() -> None:
    begun = wordings_in(configuration("long", BEFORE))
    assert key_of(ballot("long", NOW), "m", begun) == key_of(ballot("long", BEFORE), "m", begun)
    assert key_of(ballot("long", NOW), "m", {}) != key_of(ballot("long", BEFORE), "m", {})


def test_only_the_wording_may_differ() -> None:
    assert (
        differences(
            configuration("long", BEFORE),
            as_begun(configuration("long", NOW), configuration("long", BEFORE)),
        )
        == []
    )
    assert differences(
        configuration("long", BEFORE),
        as_begun(configuration("wordy", NOW), configuration("long", BEFORE)),
    )


def test_a_run_with_both_texts_means_both() -> None:
    assert earlier_in(configuration(NOW, BEFORE)) == {}
    assert earlier_in(configuration("long", NOW)) == {}


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_balanced_answer_leaves_nothing_out(language: str) -> None:
    (scale,) = [one.scale for one in rag_dimensions(language) if one.name == "conciseness"]
    assert scale[1][2] in earlier_texts()
    assert not any(word in scale[1][2] for word in ("left out", "missing", "нет", "упущ"))


def test_every_text_that_was_reworded_is_one_that_is_asked_today() -> None:
    asked = {
        text
        for language in ("en", "ru")
        for one in rag_dimensions(language)
        for _, _, text in one.scale
    }
    assert earlier_texts().keys() <= asked


def test_a_new_run_is_made_with_the_new_text() -> None:
    settings = RagEvaluator("scripted/1").configuration()
    assert earlier_in({"judges": {"rag": settings}}) == {}
    assert NOW in str(settings)
