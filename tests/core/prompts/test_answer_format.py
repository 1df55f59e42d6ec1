"""The answer that a prompt asks for is one that is read at once; the same line, copied, is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Choice, Comparison, Rating, question_of
from adjudge.core.domain.vote import Ballot
from adjudge.core.judges.aspect import aspect_criteria
from adjudge.core.prompts.languages import LANGUAGES
from adjudge.core.prompts.renderer import render
from adjudge.core.verdicts.reader import read_ballot
from adjudge.features.rag.judge import RagEvaluator

ONE = Instance({"user_input": "Why?", "response": "Because it is so."})
SEVERAL = Instance({"user_input": "Why?", "response": ["one", "two", "three"]})
ROW = Instance({"user_input": "Why?", "contexts": ["one", "two"], "response": "One. Two."})
WORK = aspect_criteria("topic", "It stays on the topic.")
RUDE = Criteria(
    "rude", "Is it rude?", [CriteriaOption("No", score=1.0), CriteriaOption("Yes", score=0.0)]
)
LEVELS = Criteria(
    "depth", "How deep is it?", [CriteriaOption(str(level), score=level) for level in range(4)]
)
BETTER = Criteria("better", "Which explains more?", [])
LISTED = re.compile(r'"(?:selected_option|verdict)": "([^"]*?) (?:or|или) [^"]*"')


def _ballots(language: str) -> Iterator[tuple[str, Ballot]]:
    asked = question_of(RUDE)
    assert isinstance(asked, Choice)
    own = [
        ("aspect", WORK, ONE, question_of(WORK), "aspect"),
        ("direct", LEVELS, ONE, question_of(LEVELS), "direct"),
        ("good if no", RUDE, ONE, asked, "direct"),
        ("good if no, reversed", RUDE, ONE, asked.reverse(), "direct"),
        ("pair", BETTER, SEVERAL, Comparison((1, 0)), "pairwise"),
        ("pair without tie", BETTER, SEVERAL, Comparison((0, 1), tie=False), "pairwise"),
        ("ranking", BETTER, SEVERAL, Comparison((0, 1, 2)), "pairwise"),
        ("ranking without ties", BETTER, SEVERAL, Comparison((2, 0, 1), tie=False), "pairwise"),
        ("review", WORK, ONE, question_of(WORK), "qualitative"),
        ("number", LEVELS, ONE, Rating((0.0, 10.0)), "quantitative"),
    ]
    for name, criteria, instance, question, template in own:
        yield name, Ballot(criteria, instance, question, template, "m", language)
    yield (
        "direct with feedback",
        Ballot(RUDE, ONE, question_of(RUDE), "direct", "m", language, feedback=True),
    )
    for checks in ("each", "joint"):
        judge = RagEvaluator(
            lambda _: "",
            dimensions=["groundedness"],
            measures=["context_precision"],
            evidence=checks,
            checks=checks,
            language=language,
        )
        for ballot in judge.plan_all(ROW):
            yield f"rag {ballot.template}", ballot


BALLOTS = {
    f"{name} {language}": ballot for language in LANGUAGES for name, ballot in _ballots(language)
}


def _line(ballot: Ballot) -> str:
    """The last line of the instructions, from the object on."""
    last = render(ballot).messages[0].content.splitlines()[-1]
    return last[last.index("{") :]


def _obeyed(ballot: Ballot, line: str) -> str:
    """The object as a model fills it in that does what the line says."""
    filled = LISTED.sub(
        lambda found: found[0].replace(found[0].split(": ")[1], f'"{found[1]}"'), line
    )
    filled = re.sub(r'"score": [^}]*', '"score": 5', filled)
    filled = re.sub(r'"(explanation|feedback)": "[^"]*"', r'"\1": "So it is."', filled)
    if ballot.template in ("check_joint", "evidence_joint"):
        key, entry = re.fullmatch(r'{"(\w+)": \[(.*)\]}', filled).groups()  # type: ignore[union-attr]
        entry = entry.replace("supported", "not found").replace('{"fragment": 1, "quote": "…"}', "")
        entries = (entry.replace('"number": 1', f'"number": {number}') for number in (1, 2))
        return f'{{"{key}": [{", ".join(entries)}]}}'
    letters = [label for label in ballot.question.labels if len(label) == 1]
    return filled.replace("[…]", json.dumps(letters)).replace('"quote": "…"', '"quote": "one"')


def test_there_is_a_ballot_of_every_judging_template() -> None:
    assert {ballot.template for ballot in BALLOTS.values()} == {
        *("aspect", "direct", "pairwise", "qualitative", "quantitative"),
        *("check", "check_joint", "evidence", "evidence_joint"),
    }


@pytest.mark.parametrize("name", BALLOTS)
def test_an_answer_in_the_form_that_is_asked_for_is_read_at_once(name: str) -> None:
    ballot = BALLOTS[name]
    answer = _obeyed(ballot, _line(ballot))
    schema = ballot.question.schema(feedback=ballot.feedback)
    assert list(json.loads(answer)) == schema["required"], "the order of the schema"
    reading = read_ballot(Reply(answer), ballot)
    assert reading.reason is None and reading.verdict is not None


@pytest.mark.parametrize("name", BALLOTS)
def test_the_line_itself_is_no_answer(name: str) -> None:
    ballot = BALLOTS[name]
    assert read_ballot(Reply(_line(ballot)), ballot).verdict is None
