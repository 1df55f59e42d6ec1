"""An object that is just as it was asked for is read by a shortcut, with the same result."""

from __future__ import annotations

from itertools import product

import pytest
from hostile import hostile_texts
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.question import Choice, Rating
from adjudge.core.verdicts import objects
from adjudge.core.verdicts.objects import full_reading, reading_of

LABELS = [
    *("PASS", "FAIL", "Yes", "No", "yes", "Good", "Good enough", "A", "a", "B", "1", "2", "0", "+"),
    *("", " ", "{", '{"selected_option": "B"}', "null", "None", "string", "…"),
    *("option", "Option", "selected", "explanation", "Explanation", "selected_option", "verdict"),
]
EXPLANATIONS = [
    *("It names 1889.", "", " ", "...", "…", "string", "<your explanation>", "[explanation]"),
    *("your reasoning here", "\ud83d", "PASS", "FAIL", "1", "{}", '{"selected_option": "No"}'),
    *(text for text in hostile_texts(seed=7, count=200)),
]
FEW = EXPLANATIONS[:18]


def _check(question: Choice, explanation: str, option: str) -> None:
    pairs = [("explanation", explanation), ("selected_option", option)]
    for found in (dict(pairs), dict(pairs[::-1])):
        assert reading_of(found, False, question) == full_reading(found, False, question)


@pytest.mark.parametrize("explanation", FEW)
def test_shortcut_reads_what_the_full_reader_reads(explanation: str) -> None:
    for labels in [(label,) for label in LABELS] + [*product(LABELS, repeat=2)]:
        _check(Choice(labels), explanation, labels[-1])


@st.composite
def questions(draw: st.DrawFn) -> Choice:
    names = draw(st.lists(st.sampled_from(LABELS) | st.text(max_size=4), max_size=4))
    points = tuple(draw(st.sampled_from([None, 0.0, 1.0])) for _ in names)
    order = draw(st.none() | st.permutations(range(len(names))).map(tuple))
    return Choice(tuple(names), draw(st.sampled_from([(), points])), order or None)


@given(questions(), st.sampled_from(EXPLANATIONS) | st.text(), st.text(max_size=8), st.data())
def test_shortcut_reads_drawn_objects_as_the_full_reader_does(
    question: Choice, explanation: str, other: str, data: st.DataObject
) -> None:
    _check(question, explanation, data.draw(st.sampled_from([*question.labels, other])))


@pytest.mark.parametrize("options", [("PASS", "FAIL"), ("1", "2", "3"), ("A", "B"), ("Ja", "Nein")])
def test_shortcut_is_taken(options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        objects, "full_reading", lambda *_: pytest.fail("the full reader was asked")
    )
    found = {"explanation": "It names 1889.", "selected_option": options[-1]}
    reading = reading_of(found, False, Choice(options))
    assert reading and reading.verdict and reading.verdict.option == options[-1]


@pytest.mark.parametrize(
    "found",
    [
        {"explanation": "It names 1889.", "selected_option": "1", "score": 2},
        {"explanation": "It names 1889.", "verdict": "1"},
        {"explanation": ["It names 1889."], "selected_option": "1"},
        {"explanation": "<your explanation>", "selected_option": "1"},
        {"explanation": "It names 1889.", "selected_option": "1."},
        {"explanation": "It names 1889.", "selected_option": 1},
    ],
)
def test_shortcut_is_not_taken(found: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(objects, "full_reading", lambda *given: asked.append(given))
    reading_of(found, False, Choice(("1", "2")))  # type: ignore[arg-type]
    reading_of({"explanation": "x", "selected_option": "1"}, True, Choice(("1", "2")))
    reading_of({"explanation": "x", "selected_option": "1"}, False, Rating((0, 2)))
    assert len(asked) == 3
