"""The run folder of an import: written next to its place, and moved there when complete."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from adjudge.core.aio.files import locked
from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.instance import GivenFields
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.label import Design, Label
from adjudge.core.domain.record import JudgmentRecord, column_of
from adjudge.core.domain.verdict import TIE, Selection
from adjudge.core.domain.vote import Outcome
from adjudge.core.ledger.bulk_writer import BulkLedger, bulk_ledger
from adjudge.core.verdicts.styles import UnreadablePolicy, unreadable_as
from adjudge.errors import RunError
from adjudge.features.importers.directions import has_scores, turn_round
from adjudge.features.importers.pooling import criteria_of, instance_of, keys_of, merge, result_of
from adjudge.features.importers.record import (
    NAMELESS,
    NOT_SAID,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    contrary_words,
)
from adjudge.features.importers.scales import goodness
from adjudge.messages import Message, reason_of
from adjudge.runs.folder import UNFINISHED
from adjudge.trust.labels.store import Draw, LabelStore

IMPORTED = "imported"
"""The state of an imported run, and the key of its import report."""
# Questions of one run that are described in its configuration: the others are in its rows alone.
_MOST_QUESTIONS = 2000
_LABELS_A_COMMIT = 500
_MOST_COLUMNS = 100
_MOST_SEEN = 500_000


@dataclass
class ImportTally:
    """Counts of an import."""

    judgments: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    votes: Counter[str] = field(default_factory=Counter)
    labels: int = 0
    unjudged: int = 0
    """Rows without any verdict."""
    judges: Counter[str] = field(default_factory=Counter)
    undescribed: int = 0
    """Judgments by questions beyond those that a configuration describes."""
    best_only: int = 0
    """Comparisons of three or more responses of which the file names only the best."""
    why_unreadable: str = ""
    """The reason of the first unreadable vote."""
    recounted: int = 0
    """Unreadable votes that count as a verdict, since the user said so."""

    def count(self, row: RecordedRow, status: str) -> None:
        """Add a judgment to the counts."""
        self.judges[row.judge] += 1
        self.judgments += 1
        self.statuses[status] += 1
        self.unjudged += not row.votes
        self.votes.update(vote.outcome.value for vote in row.votes)
        if not self.why_unreadable:
            unreadable = (vote for vote in row.votes if vote.outcome is Outcome.UNREADABLE)
            self.why_unreadable = next((vote.reason for vote in unreadable if vote.reason), "")

    @property
    def lacks_verdicts(self) -> bool:
        """Return True if there are votes, but none of them has a verdict."""
        known = self.statuses["scored"] + self.statuses["abstained"]
        return self.votes.total() > 0 and known == 0


@dataclass
class _Answers:
    """The answers of judges and of people to a question: in lower case → all ways of writing."""

    verdicts: dict[str, dict[str, None]] = field(default_factory=dict)
    labels: dict[str, dict[str, None]] = field(default_factory=dict)

    @property
    def differ(self) -> bool:
        """Return True if the same options are written in several ways, so that none can agree."""
        shared = self.verdicts.keys() & self.labels.keys()
        if shared:
            return any(len(self.verdicts[word] | self.labels[word]) > 1 for word in shared)
        pairs = (contrary_words(self.verdicts), contrary_words(self.labels))
        return None not in pairs and pairs[0] != pairs[1]


class ImportedRun:
    """A run folder that is being written."""

    def __init__(
        self, folder: Path, ledger: BulkLedger, design: Design | None, unreadable: UnreadablePolicy
    ) -> None:
        self.tally = ImportTally()
        self.origin = ""
        """Distinguishes judges without a name from those of another file."""
        self.less_is_better: frozenset[str] = frozenset()
        """Questions whose scores are turned round."""
        self.inverted: set[str] = set()
        """Those of them that have scores."""
        self.cluster = ""
        """The column whose equal values belong together in every interval of the run."""
        self.recorded_clusters: dict[str, None] = {}
        """That column as adjudge's own export says it; empty for rows that are not grouped."""
        self._columns: dict[str, None] = {}
        """Columns of the rows; unused once a row has a value in the column ``cluster``."""
        self._is_clustered = False
        self._ledger = ledger
        self._labels = LabelStore(folder)
        self._waiting: list[Label] = []
        self._draws: dict[str, Draw] = {}
        self._seen: set[int] = set()
        self._design = design
        self._unreadable = unreadable
        self._questions: dict[str, dict[str, RecordedQuestion]] = {}
        self._answers: dict[str, _Answers] = {}
        self._by_words = False
        self._marked: dict[str, RecordedQuestion] = {}
        """Questions by what people answered who gave labels alone."""
        self._models: dict[str, dict[str, None]] = {}

    def add(self, row: RecordedRow) -> None:
        """Store a row's judgment and people's labels; with `only_marks`, only the labels."""
        instance, tally = instance_of(row), self.tally
        if row.question.name in self.less_is_better:
            if has_scores(row):
                self.inverted.add(row.question.name)
            row = turn_round(row)
        row = self._spell(self._recount(row))
        self._describe(row)
        for mark in row.marks:
            self._mark(row, instance.identity, mark)
        if row.only_marks:
            return
        self._look_for_cluster(row.fields, row.more)
        result, number = result_of(row, instance), tally.judges[row.judge]
        keys = keys_of(row.judge, number, len(result.votes))
        tally.best_only += _names_only_the_best(row)
        self._ledger.add(row.judge, number, result, keys, row.at)
        tally.count(row, result.status.value)

    def add_record(self, record: JudgmentRecord, keys: list[bytes], row: RecordedRow) -> None:
        """Store a judgment of adjudge's own export unchanged; `row` holds its question and
        models.
        """
        self._look_for_cluster(record.fields, record.input)
        self._ledger.add_record(record, keys)
        self._by_words = True
        self._describe(row)
        self.tally.count(row, record.status)

    def add_labels(self, labels: Iterable[Label]) -> None:
        """Store the labels in adjudge's own export unchanged, and the draws behind them."""
        for label in labels:
            self._keep_label(label)
            if label.seed is not None and label.drawn_at is not None:
                self._draws.setdefault(label.criteria, Draw(label.seed, label.drawn_at))

    def _look_for_cluster(self, fields: GivenFields, columns: Mapping[str, Any]) -> None:
        if self.cluster and not self._is_clustered:
            value = column_of(fields, columns, self.cluster)
            self._is_clustered = value is not None and str(value).strip() != ""
            if len(self._columns) < _MOST_COLUMNS:
                self._columns.update(dict.fromkeys((*fields, *columns)))

    def check_cluster(self, source: str) -> None:
        """Group rows as the export says, unless the user named a column.

        Raise a RunError if no row has a value in that column, or the file names several.
        """
        if not self.cluster and len(self.recorded_clusters) > 1:
            raise RunError(
                "{source} has judgments of runs that group their rows in different ways "
                "({columns}): import them one by one, or choose one column with --cluster",
                source=source,
                columns=", ".join(
                    column or Message("not at all") for column in self.recorded_clusters
                ),
            )
        if not self.cluster:
            self.cluster = next(iter(self.recorded_clusters), "")
        elif not self._is_clustered:
            raise RunError(
                "no row of {source} has a value in the column {column!r}; columns: {columns}",
                source=source,
                column=self.cluster,
                columns=", ".join(self._columns),
            )

    def finish(self, facts: JsonObject) -> None:
        """Write the remaining labels, the draws and the configuration."""
        self._flush()
        for criteria, draw in self._draws.items():
            self._labels.keep_draw(criteria, draw)
        judges = {name: self._configuration(name) for name in self._questions}
        began: JsonDict = {"configuration": {"judges": judges}, "started": time.time()}
        self._ledger.finish({**began, "ended": IMPORTED, **facts})

    def questions(self) -> dict[str, RecordedQuestion]:
        """Return the described questions by name."""
        return {
            name: question
            for by_name in self._questions.values()
            for name, question in by_name.items()
        }

    def _recount(self, row: RecordedRow) -> RecordedRow:
        """Apply the policy for unreadable verdicts to a comparison.

        The votes keep the original reason. With the policy ``drop``, and for other questions, the
        row is unchanged.
        """
        if self._unreadable == "drop" or row.question.kind != "comparison":
            return row
        truth = next((mark.answer for mark in row.marks), None)
        return replace(row, votes=tuple(self._count_as(vote, truth) for vote in row.votes))

    def _count_as(self, vote: RecordedVote, truth: object) -> RecordedVote:
        right: Selection | None = (
            truth if isinstance(truth, int) else "tie" if truth == TIE else None
        )
        unknown = self._unreadable == "wrong" and right is None  # nobody says what would be right
        answer = vote.stand_in  # as the file counts it
        if self._unreadable != "recorded":
            counts = vote.outcome is Outcome.UNREADABLE and not unknown
            answer = unreadable_as(self._unreadable, right or 0) if counts else None
        if answer is None:
            return vote
        self.tally.recounted += 1
        recorded = vote.reason or vote.answer
        more = {**vote.more, "unreadable": recorded, "counted_as": self._unreadable}
        return replace(vote, outcome=Outcome.REPAIRED, answer=answer, reason=None, more=more)

    def _spell(self, row: RecordedRow) -> RecordedRow:
        """Write people's answers as the judges write the same option, and note both."""
        question = row.question
        is_known = question.name in self._answers or len(self._answers) < _MOST_QUESTIONS
        if question.kind != "choice" or not is_known:
            return row
        answers = self._answers.setdefault(question.name, _Answers())
        for vote in row.votes:
            if isinstance(vote.answer, str):
                answers.verdicts.setdefault(vote.answer.casefold(), {})[vote.answer] = None
        options = {option.name.casefold(): option.name for option in question.options}
        known = options | {word: next(iter(ways)) for word, ways in answers.verdicts.items()}
        marks = tuple(
            replace(mark, answer=known.get(mark.answer.casefold(), mark.answer))
            if isinstance(mark.answer, str)
            else mark
            for mark in row.marks
        )
        for mark in marks:
            answers.labels.setdefault(str(mark.answer).casefold(), {})[str(mark.answer)] = None
        return replace(row, marks=marks)

    def check_answers(self, source: str) -> None:
        """Raise a RunError if people and judges write the same options differently."""
        for name, answers in self._answers.items():
            if answers.differ:
                raise RunError(
                    "{source}: {name}: judges answer {verdicts}, and people answer {labels}: "
                    "write each option in one way",
                    source=source,
                    name=name,
                    verdicts=", ".join(chain.from_iterable(answers.verdicts.values())),
                    labels=", ".join(chain.from_iterable(answers.labels.values())),
                )

    def _describe(self, row: RecordedRow) -> None:
        question = row.question
        if row.only_marks:  # on judgments of judges that are described with these
            questions = self._marked
        else:
            questions = self._questions.setdefault(row.judge, {})
            models = self._models.setdefault(row.judge, {})
            models.update(dict.fromkeys(vote.model for vote in row.votes))
            described = sum(map(len, self._questions.values()))
            if question.name not in questions and described >= _MOST_QUESTIONS:
                self.tally.undescribed += 1
                return
        questions[question.name] = _with_answers(questions.get(question.name, question), row)

    def _mark(self, row: RecordedRow, identity: str, mark: Mark) -> None:
        names = {"choice": "option", "comparison": "winner", "rating": "score"}
        name = names[row.question.kind]
        answer: Any = str(mark.answer) if name == "option" else mark.answer
        label = Label(
            row=identity,
            id=row.id,
            criteria=row.question.name,
            annotator=mark.annotator,
            kind=mark.kind,
            design=self._design or mark.design,
            judge_visible=mark.judge_visible,
            note=mark.note,
            at=mark.at or row.at or time.time(),
            **{name: answer},
        )
        key = hash((identity, label.id, label.criteria, label.annotator, label.answer))
        if key in self._seen:  # a file with several judges repeats the right answer for each
            return
        if len(self._seen) < _MOST_SEEN:
            self._seen.add(key)
        self._keep_label(label)

    def _keep_label(self, label: Label) -> None:
        self.tally.labels += 1
        self._waiting.append(label)
        if len(self._waiting) >= _LABELS_A_COMMIT:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._labels.merge(*self._waiting)
            self._waiting = []

    def _identity(self, model: str) -> str:
        """Return the model's name; for an unnamed model, add the source's digest."""
        # Nameless models of two files may differ: labels on one must not correct the other.
        return f"{model or NOT_SAID} ({self.origin})" if model in NAMELESS else model

    def _configuration(self, judge: str) -> JsonDict:
        """Return a judge's configuration in the form that adjudge's own judges have.

        Labels, reports and comparisons rely on it.
        """
        questions = self._questions[judge]
        merged = [
            merge(question, self._marked.get(name, question))
            for name, question in questions.items()
        ]
        if self._by_words:
            merged = [_by_words(question) for question in merged]
        models = {name: {"identity": self._identity(name)} for name in self._models[judge]}
        rating = next((question for question in merged if question.kind == "rating"), None)
        if rating is not None:  # a judge that asks for a number is named after its one question
            low, high = rating.bounds
            asks = criteria_of(rating).definition
            settings: JsonDict = {"expression": asks, "min": low, "max": high, "imported": judge}
            return {"judge": rating.name, "settings": settings, "models": models, "criteria": []}
        main_question = merged[0] if merged else RecordedQuestion(judge)
        ties = {"tie_enabled": main_question.ties} if main_question.kind == "comparison" else {}
        settings = {**main_question.settings, "imported": judge, **ties}
        criteria = [plain(criteria_of(question)) for question in merged]
        return {"judge": IMPORTED, "settings": settings, "models": models, "criteria": criteria}


def _names_only_the_best(row: RecordedRow) -> bool:
    """Return True if three or more responses are compared by votes that do not rank them."""
    if row.question.kind != "comparison":
        return False
    answered = [vote for vote in row.votes if vote.answer is not None]
    responses = row.fields.get(row.question.to_evaluate_field, ())
    return len(responses) > 2 and any(not vote.compared for vote in answered)


def _by_words(question: RecordedQuestion) -> RecordedQuestion:
    """Order options from good to bad by their words, unless any option has a score."""
    if any(option.score is not None for option in question.options):
        return question
    # An export has no order of options, and without scores the first one's share is measured.
    ordered = sorted(question.options, key=lambda option: goodness(option.name))
    return replace(question, options=tuple(ordered))


def _with_answers(question: RecordedQuestion, row: RecordedRow) -> RecordedQuestion:
    """Extend a question with the answers in one more row."""
    row_question = row.question
    answers = [
        *(vote.answer for vote in row.votes if vote.answer is not None),
        *(mark.answer for mark in row.marks),
    ]
    if question.kind != row_question.kind and answers:  # a failure does not tell what was asked
        question = row_question
    if row_question.kind == "rating":
        return (
            merge(question, row_question, numbers=tuple(map(float, answers)))
            if answers
            else question
        )
    return merge(
        question, row_question, tuple(map(str, answers)) if row_question.kind == "choice" else ()
    )


@contextmanager
def imported_run(
    target: Path, design: Design | None = None, unreadable: UnreadablePolicy = "drop"
) -> Iterator[ImportedRun]:
    """Make a new run folder. It appears only when complete; an error leaves nothing behind."""
    new = target.with_name(f".{target.name}{UNFINISHED}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(new.with_suffix(".lock"), wait=False, stays=False) as alone:
            if not alone:
                raise RunError(
                    "another import is writing {target}: wait for it, or give --run another name",
                    target=target,
                )
            refuse_existing(target)
            with _whole_or_gone(new), bulk_ledger(new) as ledger:
                yield ImportedRun(new, ledger, design, unreadable)
            new.replace(target)  # before another import may empty the folder
    except OSError as error:
        raise RunError(
            "the run folder {target} cannot be created: {reason}",
            target=target,
            reason=reason_of(error),
        ) from error


@contextmanager
def _whole_or_gone(new: Path) -> Iterator[None]:
    """Create the folder empty, and delete it if the block fails."""
    is_complete = False
    # An import that was killed may have left files here.
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        yield
        is_complete = True
    finally:
        if not is_complete:
            shutil.rmtree(new, ignore_errors=True)


def refuse_existing(target: Path) -> None:
    """Raise a RunError unless the target is missing or an empty folder."""
    if target.is_symlink() or (
        target.exists() and not (target.is_dir() and not any(target.iterdir()))
    ):
        raise RunError(
            "{target} already exists: an import creates a new run folder, so give --run another "
            "name",
            target=target,
        )
