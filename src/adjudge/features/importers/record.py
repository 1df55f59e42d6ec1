"""The common form of foreign records: judgments with their votes, and people's labels of the same
rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from adjudge.core.domain.criteria import CriteriaExample, CriteriaOption
from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.instance import GivenFields
from adjudge.core.domain.label import Design, Kind, Winner
from adjudge.core.domain.message import Usage
from adjudge.core.domain.vote import Outcome
from adjudge.features.importers.values import Json, JsonObject, number, text
from adjudge.messages import Message

QuestionKind = Literal["choice", "comparison", "rating"]
RecordedAnswer = str | float
"""The option; of a comparison the winner's index or "tie"; of a rating the number."""
PASS, FAIL = "PASS", "FAIL"
PASS_OR_FAIL = (CriteriaOption(PASS, score=1.0), CriteriaOption(FAIL, score=0.0))
NOT_SAID = "unknown"
"""The model of a judge that the file does not name."""
NAMELESS = ("", NOT_SAID, "api", "code", "assertions")
"""Names that identify no model: two files may mean different ones."""
UNJUDGED = "rows"
"""The judge's name for rows that no judge has judged."""
NO_VERDICT = Message("no verdict is recorded")
NAMED_BY_ID = Message("the file does not contain the texts, so rows are named by their ids")
_LONGEST_NAME = 80
# Words that say that something is so, each with its contrary.
_PAIRS = ((PASS, FAIL), ("yes", "no"), ("true", "false"), ("correct", "incorrect"))


@dataclass(frozen=True)
class RecordedQuestion:
    """The question that was judged, as far as the file describes it."""

    name: str
    description: str = ""
    kind: QuestionKind = "choice"
    options: tuple[CriteriaOption, ...] = ()
    """The known options; others are added when they are chosen."""
    bounds: tuple[float, float] = (0.0, 1.0)
    """The scale of a rating. A number outside widens it."""
    ties: bool = True
    higher_is_better: bool = True
    """True if more of what the question is named after is better.

    Readers turn scores round, so that 1.0 is the good end.
    """
    to_evaluate_field: str = "response"
    context_fields: tuple[str, ...] | None = None
    examples: tuple[CriteriaExample, ...] = ()
    settings: JsonObject = NOTHING
    """The judge's settings in the file."""


@dataclass(frozen=True, kw_only=True)
class RecordedVote:
    """One verdict in the file, with responses numbered as in the row, or its failure."""

    answer: RecordedAnswer | None = None
    score: float | None = None
    """The judge's own number beside its option."""
    outcome: Outcome = Outcome.OK
    reason: str | None = None
    model: str = NOT_SAID
    sample: int = 0
    swapped: bool = False
    """True if the responses were shown in reversed order. The answer is put back already."""
    compared: tuple[int, ...] = ()
    """The responses that it is about, by their index; empty: all of the row."""
    explanation: str = ""
    feedback: str = ""
    text: str = ""
    prompt: str = ""
    usage: Usage = Usage()
    distribution: Mapping[str, float] | None = None
    stand_in: Winner | None = None
    """A substitute that the file counts in place of a verdict, such as a winner drawn at random."""
    more: JsonObject = NOTHING
    """Whatever else the file says of it."""

    def with_answer(
        self, answer: RecordedAnswer, score: float | None = None, outcome: Outcome = Outcome.OK
    ) -> RecordedVote:
        """Return this vote with a verdict."""
        return replace(self, answer=answer, score=score, outcome=outcome)

    def with_failure(self, reason: Json, *, unreadable: bool = False) -> RecordedVote:
        """Return this vote as failed.

        With `unreadable`, the model replied but no verdict could be read.
        """
        return replace(
            self,
            answer=None,
            outcome=Outcome.UNREADABLE if unreadable else Outcome.MODEL_ERROR,
            reason=text(reason) or Message("no reason is recorded"),
        )

    def with_outcome(self, outcome: str, reason: Json) -> RecordedVote:
        """Return this vote as failed in the way that adjudge exported; any other word is an error
        of the model.
        """
        failed = self.with_failure(reason)
        known = outcome in {*Outcome} - {Outcome.OK, Outcome.REPAIRED}
        return replace(failed, outcome=Outcome(outcome)) if known else failed

    def with_answer_or_failure(
        self, answer: RecordedAnswer | None, reason: Json, *, unreadable: bool = False
    ) -> RecordedVote:
        """Return this vote with the answer, or as failed if the answer is None."""
        if answer is None:
            return self.with_failure(reason, unreadable=unreadable)
        return self.with_answer(answer)


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A person's answer for a row."""

    answer: RecordedAnswer | Winner
    annotator: str = "annotator"
    kind: Kind = "human"
    design: Design = "chosen"
    judge_visible: bool = False
    note: str = ""
    at: float | None = None


@dataclass(frozen=True, kw_only=True)
class RecordedRow:
    """One row under one question: a judge's votes and people's marks."""

    judge: str = UNJUDGED
    """The name to store its judgments under."""
    question: RecordedQuestion
    fields: GivenFields
    id: str | None = None
    votes: tuple[RecordedVote, ...] = ()
    marks: tuple[Mark, ...] = ()
    systems: tuple[str, ...] = ()
    """Names of the compared responses."""
    more: JsonObject = NOTHING
    """Whatever else the file says of the row."""
    at: float | None = None
    named_only: bool = False
    """True if the judged texts are not in the file: then the fields hold their names."""
    only_marks: bool = False
    """True if another record of the file has the row's judgment: then this one only adds labels."""

    def judged_by(self, judges: Mapping[str, Sequence[RecordedVote]]) -> Iterator[RecordedRow]:
        """Yield the row once per judge with its votes; unchanged if there is no judge."""
        for judge, votes in judges.items():
            yield replace(self, judge=judge, votes=tuple(votes))
        if not judges:
            yield self


@dataclass
class ImportLog:
    """A reader's log: skipped items with reasons, notes, and the use of each key."""

    skipped: Counter[str] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)
    """Key of the file → what it became."""
    version: str = ""
    whole: dict[str, Json] = field(default_factory=dict)
    """Data about all rows of the file, for an export to the same tool."""

    def skip(self, what: str, count: int = 1) -> None:
        """Count an item that was not imported."""
        self.skipped[what] += count

    def note(self, text: str) -> None:
        """Tell the user something about the import, once."""
        self.notes[text] = None

    def use(self, names: Mapping[str, str]) -> None:
        """Record what each key of the file was used for."""
        self.used.update(names)


def pass_or_fail(name: str, description: str = "") -> RecordedQuestion:
    """Return a pass-or-fail question."""
    return RecordedQuestion(name, description, options=PASS_OR_FAIL)


def rate(name: str, description: str = "", *, less_is_better: bool = False) -> RecordedQuestion:
    """Return a question that is answered by a number."""
    return RecordedQuestion(name, description, "rating", higher_is_better=not less_is_better)


def as_verdict(value: object) -> str:
    """Return PASS or FAIL."""
    return PASS if value else FAIL


def question_for(name: str, value: Json) -> tuple[RecordedQuestion, RecordedAnswer]:
    """Return the question that a value answers, and the value as its answer.

    The value may be a boolean, a number or a word.
    """
    word = value.strip().casefold() if isinstance(value, str) else ""
    if isinstance(value, bool):
        return pass_or_fail(name), as_verdict(value)
    for good, bad in _PAIRS:
        if word in (good.casefold(), bad.casefold()):
            options = (CriteriaOption(good, score=1.0), CriteriaOption(bad, score=0.0))
            answer = good if word == good.casefold() else bad
            return RecordedQuestion(name, options=options), answer
    points = number(value)
    return (RecordedQuestion(name), text(value)) if points is None else (rate(name), points)


def contrary_words(words: Iterable[str]) -> tuple[str, str] | None:
    """Return the pair of contrary words that has all of these; None without such a pair."""
    words = {word.casefold() for word in words}
    pairs = (pair for pair in _PAIRS if words and words <= {each.casefold() for each in pair})
    return next(pairs, None)


def shorten_name(text: str) -> str:
    """Shorten a question's text to a name; a hash keeps different texts different."""
    line = " ".join(text.split())
    if len(line) <= _LONGEST_NAME:
        return line
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:6]
    return f"{line[: _LONGEST_NAME - 9]}… {digest}"


def by_model(question: str, model: str) -> str:
    """Return the name to store judgments under: the question, and the model if known."""
    return question if model in ("", NOT_SAID) else f"{question} ({model})"
