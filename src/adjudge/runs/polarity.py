"""Notes on plain questions that may be scored upside down: yes is good, but sounds bad.

Criteria that are written out with scores are not questioned: their author has decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from adjudge.core.catalog.criteria import ready_made_name
from adjudge.core.catalog.polarity import find_bad_word
from adjudge.core.domain.criteria import Criteria
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.criteria_entry import CRITERIA_FILES, Aspect, CriteriaEntry


def aspect_polarity_notes(criteria: Iterable[CriteriaEntry], *, typed: bool) -> Iterator[Message]:
    """Yield a note for each aspect that a text seems to pass by being bad. ``typed``: on a command
    line.
    """
    for criterion in criteria:
        text = _aspect_text(criterion)
        if word := find_bad_word(text):
            yield _aspect_note(text, word, typed=typed)


def question_polarity_notes(criteria: Iterable[CriteriaEntry], *, typed: bool) -> Iterator[Message]:
    """Yield a note for each question whose good answer seems to be yes to something bad."""
    for criterion in criteria:
        text = _question_text(criterion)
        if word := find_bad_word(text):
            yield _question_note(text, word, typed=typed)


def opposed_criteria(name: str, judge: str, judge2: str) -> SetupError:
    """Return the error for two criteria of one name that disagree about the better option."""
    return SetupError(
        "judges {judge!r} and {judge2!r} disagree about which option of {name!r} is better: labels "
        "know a criterion by its name, so give each its own",
        judge=judge,
        judge2=judge2,
        name=name,
    )


def _aspect_text(criterion: CriteriaEntry) -> str:
    match criterion.what:
        case Aspect(_, definition):
            return definition
        case {"description": description}:
            return str(description)
    return str(criterion.what)


def _question_text(criterion: CriteriaEntry) -> str:
    """Return a plain question whose good answer is Yes; empty for other criteria."""
    if isinstance(criterion.what, Criteria):
        return (
            criterion.what.definition
            if criterion.what.is_yes_good and not criterion.what.title
            else ""
        )
    text = criterion.what if isinstance(criterion.what, str) else ""
    names_criteria = Path(text).suffix in CRITERIA_FILES or ready_made_name(text) is not None
    return "" if names_criteria or len(text.split()) < 2 else text


def _aspect_note(text: str, word: str, *, typed: bool) -> Message:
    if typed:
        return Message(
            "{text!r}: a text passes if this is true, but {word!r} sounds bad. If a text should "
            "pass if it is false, add --good no.",
            text=text,
            word=word,
        )
    return Message(
        "{text!r}: a text passes if this is true, but {word!r} sounds bad. If a text should pass "
        "if it is false, describe a good text instead, or use kind: direct with 'good: No'.",
        text=text,
        word=word,
    )


def _question_note(text: str, word: str, *, typed: bool) -> Message:
    if typed:
        return Message(
            "{text!r}: Yes counts as good, but {word!r} sounds bad. If No is the good answer, add "
            "--good no.",
            text=text,
            word=word,
        )
    return Message(
        "{text!r}: Yes counts as good, but {word!r} sounds bad. If No is the good answer, write "
        "the criterion out with 'options: [Yes, No]' and 'good: No'.",
        text=text,
        word=word,
    )
