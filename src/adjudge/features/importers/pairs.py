"""Shared parts of readers of compared responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from adjudge.core.domain.verdict import TIE, Selection
from adjudge.core.verdicts.styles import put_back
from adjudge.features.importers.record import Mark, RecordedQuestion, RecordedVote
from adjudge.features.importers.values import Json, number, text
from adjudge.messages import Message

BETTER = RecordedQuestion(
    "better response", "Which response follows the instruction better?", "comparison"
)
BETTER_ANSWER = replace(
    BETTER, name="better answer", description="Which assistant's answer is better?"
)
NO_REPLY_VERDICT = Message("no verdict was read from the reply")
_TIE: Selection = "tie"
_WORDS: Mapping[str, Selection] = {
    **dict.fromkeys(("1", "a", "a>b", "a>>b", "model_1", "model_a", "response 1", "output_1"), 0),
    **dict.fromkeys(
        ("2", "b", "b>a", "b>>a", "a<b", "a<<b", "model_2", "model_b", "response 2", "output_2"), 1
    ),
    **dict.fromkeys(("0", TIE, "a=b", "tie (inconsistent)", "tie (bothbad)", "both", "c"), _TIE),
}
_ANSWERS = re.compile(
    r"(?:<\||\[)The Start of Assistant (?P<who>A|B|1|2)(?:'s)? (?:Answer|Conversation with "
    r"User)(?:\|>|\])\s*(?P<said>.*?)\s*"
    r"(?:<\||\[)The End of Assistant (?P=who)(?:'s)? (?:Answer|Conversation with User)(?:\|>|\])",
    re.DOTALL,
)
_ONE_ANSWER = re.compile(
    r"(?:<\||\[)The Start of Assistant(?:'s|’s) (?:Answer|Conversation with User)(?:\|>"
    r"|\])\s*(.*?)\s*"
    r"(?:<\||\[)The End of Assistant",
    re.DOTALL,
)
_QUESTION = re.compile(
    r"(?:\[(?:User )?Question\]|<\|User Prompt\|>)\s*(.*?)\s*(?:\[The Start of|<\|The Start of)",
    re.DOTALL,
)


def winner(value: object) -> Selection | None:
    """Return which response a word or number names as better, or a tie; else None."""
    points = number(value) if not isinstance(value, str) else None
    word = text(value).strip().casefold() if points is None else f"{points:g}"
    return _WORDS.get(word.replace(" ", ""), _WORDS.get(word))


def pair_vote(value: Json, vote: RecordedVote, *, relabelled: bool = False) -> RecordedVote:
    """Return the vote with the winner that a value names, or as unreadable.

    With `relabelled`, the value refers to the responses as shown, so it is mapped back if they were
    swapped.
    """
    answer = winner(value)
    if answer is None:
        has_word = value not in (None, "")
        reason = (
            Message("{answer!r} does not name a response", answer=text(value))
            if has_word
            else NO_REPLY_VERDICT
        )
        return vote.with_failure(reason, unreadable=True)
    return vote.with_answer(put_back(answer, swapped=vote.swapped and relabelled))


def gold(value: Json, annotator: str = "gold") -> tuple[Mark, ...]:
    """Return a data set's correct answer as a mark, given a word for the winner."""
    return gold_marks(winner(value), annotator)


def gold_marks(chosen: Selection | None, annotator: str = "gold") -> tuple[Mark, ...]:
    """Return a data set's correct answer as a mark; none if it is None."""
    if chosen is None:
        return ()
    # All of its rows have one, so they are not a selection.
    return (Mark(answer=chosen, annotator=annotator, kind="expert", design="random"),)


def shown_question(prompt: str) -> str:
    """Return the question in a prompt of FastChat or Arena-Hard, else the whole prompt."""
    match = _QUESTION.search(prompt)
    return match[1] if match else prompt


def shown_answers(prompt: str) -> tuple[str, ...]:
    """Return the answers in a FastChat or Arena-Hard prompt, in the order shown."""
    return tuple(match["said"] for match in _ANSWERS.finditer(prompt)) or tuple(
        _ONE_ANSWER.findall(prompt)
    )
