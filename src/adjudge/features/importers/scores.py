"""Join scores with their subjects if platforms export them separately."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.features.importers.exported import Exported
from adjudge.features.importers.record import (
    ImportLog,
    Mark,
    RecordedAnswer,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    as_verdict,
    by_model,
    question_for,
    rate,
)
from adjudge.features.importers.scales import option_named
from adjudge.features.importers.values import (
    Json,
    JsonObject,
    Texts,
    fields_of,
    is_missing,
    number,
    text,
)
from adjudge.messages import Message


@dataclass(frozen=True)
class SubjectScore:
    """A score of one subject, by a judge or a person."""

    row: RecordedRow
    """The subject, by its id, and what was asked of it; the judge, the votes and the marks are
    filled in here.
    """
    value: Json
    """The judge's or the person's answer, or None."""
    by: RecordedVote | Mark
    """The vote or mark that it belongs to, without the answer."""
    exported: Exported | None = None
    """The judgment that adjudge exported as this score."""

    @property
    def name(self) -> str:
        return self.row.question.name

    @property
    def key(self) -> int:
        """The key for joining the judge's and people's scores."""
        # A hash is small, and a file may hold very many.
        return hash((self.row.id, self.name))


def join_scores(
    scores: Callable[[ImportLog], Iterable[SubjectScore]], log: ImportLog
) -> Iterator[RecordedRow]:
    """Yield a row per score: a judge's score as a vote, a person's as a label.

    A subject that only people scored is a row without a verdict. The scores are read twice; only
    the second time is logged.
    """
    judged_keys, values = set[int](), ValueKinds()
    for score in scores(ImportLog()):
        if isinstance(score.by, RecordedVote):
            judged_keys.add(score.key)
        values.see(score.name, score.value)
        if score.exported is not None:
            values.see_exported(score.name, score.exported)
    for score in scores(log):
        yield _row(score, values, score.key in judged_keys, log)


class ValueKinds:
    """Collects the kinds of each question's values: booleans, numbers or words."""

    def __init__(self) -> None:
        self._kinds: dict[str, set[str]] = defaultdict(set)
        self._questions: dict[str, RecordedQuestion] = {}
        self._exported: dict[str, RecordedQuestion] = {}

    def see_exported(self, name: str, exported: Exported) -> None:
        """Note a question as adjudge exported it, if its options are known."""
        if exported.has_options:
            self._exported.setdefault(name, exported.question)

    def exported(self, name: str) -> RecordedQuestion | None:
        """Return the question of adjudge's own scores with this name; None without them."""
        return self._exported.get(name)

    def see(self, name: str, value: Json) -> None:
        """Note the kind of one more value; missing and compound values are ignored."""
        if _tells_nothing(value):
            return
        truth, points = isinstance(value, bool), number(value)
        self._kinds[name].add("truth" if truth else "word" if points is None else "number")
        self._questions.setdefault(name, question_for(name, value)[0])

    def read(self, name: str, value: Json) -> tuple[RecordedQuestion, RecordedAnswer | None]:
        """Return the question, and the value as its answer; None if missing or compound."""
        kinds, points = self._kinds[name], number(value)
        mixed = rate(name) if kinds == {"truth", "number"} else RecordedQuestion(name)
        if _tells_nothing(value):
            return mixed if len(kinds) > 1 else self._questions.get(name, mixed), None
        if mixed.kind == "rating":
            return mixed, points
        if len(kinds) > 1 and not (isinstance(value, str) and points is None):
            words = isinstance(value, bool) or points is None
            return mixed, text(value) if words else f"{points:g}"
        return question_for(name, value)


def _tells_nothing(value: Json) -> bool:
    return is_missing(value) or _is_several(value)


def _is_several(value: Json) -> bool:
    return isinstance(value, Mapping | list | tuple)


def _row(score: SubjectScore, values: ValueKinds, is_judged: bool, log: ImportLog) -> RecordedRow:
    question, answer = values.read(score.name, score.value)
    known = values.exported(score.name)
    if known is not None and answer is not None:
        word = as_verdict(score.value) if isinstance(score.value, bool) else text(score.value)
        option = option_named(known, word)
        if option is not None:
            question, answer = known, option
        elif isinstance(score.by, Mark):
            log.skip(
                Message("label {value!r}, which is not an answer to the question", value=answer)
            )
            question, answer = known, None
    if score.exported is not None:
        return _exported_row(score, score.exported, answer, is_judged)
    if score.row.question.options and known is None:  # the file says what they score
        question = score.row.question
        answer = None if _tells_nothing(score.value) else text(score.value)
    if isinstance(score.by, RecordedVote):
        vote = score.by
        if vote.reason is None and answer is not None:
            vote = vote.with_answer(answer, vote.score)
        elif vote.reason is None:
            several = _is_several(score.value)
            why = (
                Message("the value is neither a number nor a word")
                if several
                else Message("the value is missing")
            )
            vote = vote.with_failure(why, unreadable=several)
        judge = by_model(score.name, vote.model)
        return replace(score.row, judge=judge, question=question, votes=(vote,))
    marks = () if answer is None else (replace(score.by, answer=answer),)
    return replace(
        score.row, judge=score.name, question=question, marks=marks, only_marks=is_judged
    )


def _exported_row(
    score: SubjectScore, exported: Exported, answer: RecordedAnswer | None, is_judged: bool
) -> RecordedRow:
    """Return the row of adjudge's own export, which knows the question."""
    if isinstance(score.by, RecordedVote):
        return exported.row(score.row, score.by)
    mark = exported.mark(score.by, answer)
    row = replace(exported.row(score.row, RecordedVote()), votes=())
    return replace(row, marks=() if mark is None else (mark,), only_marks=is_judged)


def subject_fields(kind: str, id: str, texts: JsonObject = NOTHING) -> Texts:
    """Return the scored object's texts, or its kind and id if the file has none."""
    return fields_of(texts) or {"response": f"{kind} {id}"}
