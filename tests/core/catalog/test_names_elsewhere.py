"""Names of metrics in other tools lead to the ready-made criterion with the same meaning."""

from __future__ import annotations

import pytest

from adjudge import DirectJudge
from adjudge.core.catalog.criteria import NAMES_ELSEWHERE, all_names, entry
from adjudge.errors import SetupError
from support.commands import adjudge


def test_every_name_leads_to_a_ready_made_criterion_of_both_languages() -> None:
    for language in ("en", "ru"):
        assert {*NAMES_ELSEWHERE.values()} <= {*all_names(language)}
    assert not NAMES_ELSEWHERE.keys() & {*all_names()}
    assert all(entry(name).kind == "direct" for name in NAMES_ELSEWHERE.values())


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("faithfulness", "groundedness"),
        ("answer-relevancy", "answer_relevance"),
        ("Answer_Correctness", "factual_correctness"),
        ("factuality", "factual_correctness"),
    ],
)
def test_the_command_names_it(name: str, here: str) -> None:
    for command in (("judge", "x", "-m", "scripted", "-c", name), ("criteria", "show", name)):
        done = adjudge(*command)
        assert done.returncode in (1, 2)
        assert f"adjudge calls it {here}" in done.stderr


def test_a_word_in_place_of_a_question_names_it() -> None:
    with pytest.raises(SetupError, match="adjudge calls it 'groundedness'"):
        DirectJudge(models="scripted").evaluate("x", "Faithfulness")


def test_a_question_of_ones_own_is_written_out() -> None:
    assert "write your own question" in adjudge("criteria", "show", "g-eval").stderr


def test_the_name_itself_works() -> None:
    done = adjudge("judge", "x", "-m", "scripted", "-c", "hallucination", "--context", "y")
    assert done.returncode == 0, done.stderr
