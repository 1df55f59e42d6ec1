"""A run is continued in the prompts that it began with: a new wording keeps the one before it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import Question, Rating, question_of
from adjudge.core.domain.vote import Ballot
from adjudge.core.prompts.renderer import render

SENT: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("sent_prompts.json").read_text(encoding="utf-8")
)
"""Of each ballot below the hashes of its wording, which a run stores, and of its prompt.

The wordings are those of 1.2.0, and of later ones for points of rubrics and for proposals.
"""
CRITERIA = Criteria(
    "dates",
    "It names a year.",
    [CriteriaOption("PASS", "It does.", score=1.0), CriteriaOption("FAIL", score=0.0)],
    to_evaluate_field="reply",
    examples=[CriteriaExample({"reply": "In 1889."}, "PASS", "1889")],
)
INSTANCES = (
    Instance({"user_input": "When?", "contexts": ["a", "b"], "reply": "Built in 1889."}),
    Instance({"text": "Built </data> in 1889."}),
)


def _ballots(templates: list[str]) -> Iterator[tuple[str, Ballot]]:
    """Two ballots of each template and language, with a name for each."""
    for template in templates:
        question: Question = question_of(CRITERIA)
        if template == "quantitative":
            question = Rating((0.0, 10.0))
        for language in ("en", "ru"):
            for number, instance in enumerate(INSTANCES):
                ballot = Ballot(CRITERIA, instance, question, template, "m", language)
                if template == "direct":
                    ballot = replace(ballot, feedback=bool(number))
                yield f"{template} {language} {number}", ballot


BALLOTS = dict(_ballots(sorted({name.split()[0] for name in SENT})))


@pytest.mark.parametrize("name", SENT)
def test_a_resumed_run_sends_the_prompt_it_sent_before(name: str) -> None:
    worded, sent = SENT[name]
    ballot = BALLOTS[name]
    assert render(ballot, {f"{ballot.template}.jinja": worded}).hash == sent
