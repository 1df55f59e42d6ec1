"""The run folder that an import makes: written beside its place, and put there when it is whole."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from adjudge.aio.files import locked
from adjudge.domain.frozen import plain
from adjudge.domain.label import Design, Label
from adjudge.domain.record import JudgmentRecord
from adjudge.domain.verdict import TIE, Selection
from adjudge.domain.vote import Outcome
from adjudge.errors import RunError
from adjudge.importers.directions import turned
from adjudge.importers.pool import criteria_of, instance_of, keys_of, merged, result_of
from adjudge.importers.record import NAMELESS, NOT_SAID, Asked, Mark, Recorded, RecordedVote
from adjudge.importers.scales import goodness
from adjudge.labels.store import Draw, LabelStore
from adjudge.ledger.bulk import BulkLedger, bulk_ledger
from adjudge.messages import reason_of
from adjudge.runs.folder import UNFINISHED
from adjudge.verdicts.styles import UnreadablePolicy, with_policy

IMPORTED = "imported"
"""How an imported run ended, and where it says what it was imported from."""
_LOCK = "import.lock"
_MOST_QUESTIONS = 2000
"""Questions of one run that are described in its configuration: the others are
in its rows alone.
"""
_LABELS_A_COMMIT = 500
_MOST_SEEN = 500_000


@dataclass
class Tally:
    """What came out of a file."""

    judgments: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    votes: Counter[str] = field(default_factory=Counter)
    labels: int = 0
    unjudged: int = 0
    """Rows without any verdict."""
    judges: Counter[str] = field(default_factory=Counter)
    undescribed: int = 0
    """Judgments by questions beyond those that a configuration describes."""
    recounted: int = 0
    """Unreadable votes that count as a verdict, since the user said so."""


class ImportedRun:
    """A run folder that is being made."""

    def __init__(
        self, folder: Path, ledger: BulkLedger, design: Design | None, unreadable: UnreadablePolicy
    ) -> None:
        self.tally = Tally()
        self.origin = ""
        """What tells judges without a name from those of another file."""
        self.less_is_better: frozenset[str] = frozenset()
        """Questions whose scores are turned round."""
        self._ledger = ledger
        self._labels = LabelStore(folder)
        self._waiting: list[Label] = []
        self._draws: dict[str, Draw] = {}
        self._seen: set[int] = set()
        self._design = design
        self._unreadable = unreadable
        self._questions: dict[str, dict[str, Asked]] = {}
        self._by_words = False
        self._marked: dict[str, Asked] = {}
        """Questions by what people answered who gave labels alone."""
        self._models: dict[str, dict[str, None]] = {}

    def add(self, recorded: Recorded) -> None:
        """Keep a judgment, and what people said of its row."""
        instance = instance_of(recorded)
        recorded = self._recounted(
            turned(recorded) if recorded.asked.name in self.less_is_better else recorded
        )
        self._describe(recorded)
        for mark in recorded.marks:
            self._mark(recorded, instance.identity, mark)
        if recorded.only_marks:
            return
        result = result_of(recorded, instance)
        number = self.tally.judges[recorded.judge]
        self._ledger.add(
            recorded.judge,
            number,
            result,
            keys_of(recorded.judge, number, len(result.votes)),
            recorded.at,
        )
        self._count(recorded, result.status.value)

    def add_record(
        self,
        record: JudgmentRecord,
        keys: list[bytes],
        recorded: Recorded,
    ) -> None:
        """Keep a judgment of ours as its export has it; ``recorded`` is what it asks and who
        answered.
        """
        self._ledger.add_record(record, keys)
        self._by_words = True
        self._describe(recorded)
        self._count(recorded, record.status)

    def add_labels(self, labels: Iterable[Label]) -> None:
        """Keep labels of ours as their export has them, with the draws that they come from."""
        for label in labels:
            self._keep_label(label)
            if (
                label.seed is not None
                and label.drawn_at is not None
                and label.criteria not in self._draws
            ):
                self._draws[label.criteria] = Draw(label.seed, label.drawn_at)

    def finish(self, facts: Mapping[str, object]) -> None:
        """Write what is known of the whole."""
        self._flush()
        for criteria, draw in self._draws.items():
            self._labels.keep_draw(criteria, draw)
        judges = {name: self._configuration(name) for name in self._questions}
        self._ledger.finish(
            {
                "configuration": {"judges": judges},
                "started": time.time(),
                "ended": IMPORTED,
                **facts,
            }
        )

    def _count(self, recorded: Recorded, status: str) -> None:
        tally = self.tally
        tally.judges[recorded.judge] += 1
        tally.judgments += 1
        tally.statuses[status] += 1
        tally.unjudged += not recorded.votes
        tally.votes.update(vote.outcome.value for vote in recorded.votes)

    def _recounted(self, recorded: Recorded) -> Recorded:
        """Unreadable comparisons as the policy counts them; what was said of
        them stays beside it.
        """
        if self._unreadable == "drop" or recorded.asked.kind != "comparison":
            return recorded
        if self._unreadable == "recorded":
            return replace(recorded, votes=tuple(map(self._as_recorded, recorded.votes)))
        truth = next((mark.answer for mark in recorded.marks), None)
        votes = tuple(
            self._counted(vote, truth) if vote.outcome is Outcome.UNREADABLE else vote
            for vote in recorded.votes
        )
        return replace(recorded, votes=votes)

    def _as_recorded(self, vote: RecordedVote) -> RecordedVote:
        """The vote as the file counts it."""
        if vote.stand_in is None:
            return vote
        self.tally.recounted += 1
        more = {
            **vote.more,
            "unreadable": vote.reason or vote.answer,
            "counted_as": self._unreadable,
        }
        return replace(vote, outcome=Outcome.REPAIRED, answer=vote.stand_in, reason=None, more=more)

    def _counted(self, vote: RecordedVote, truth: object) -> RecordedVote:
        right: Selection | None = (
            truth if isinstance(truth, int) else "tie" if truth == TIE else None
        )
        if self._unreadable == "wrong" and right is None:
            return vote  # nobody says what would be right
        self.tally.recounted += 1
        more = {**vote.more, "unreadable": vote.reason, "counted_as": self._unreadable}
        answer = with_policy(None, self._unreadable, right if right is not None else 0)
        return replace(vote, outcome=Outcome.REPAIRED, answer=answer, reason=None, more=more)

    def _describe(self, recorded: Recorded) -> None:
        asked = recorded.asked
        if recorded.only_marks:  # on judgments of judges that are described with these
            self._marked[asked.name] = _with_answers(self._marked.get(asked.name, asked), recorded)
            return
        known = self._questions.setdefault(recorded.judge, {})
        models = self._models.setdefault(recorded.judge, {})
        models.update(dict.fromkeys(vote.model for vote in recorded.votes))
        if asked.name not in known and sum(map(len, self._questions.values())) >= _MOST_QUESTIONS:
            self.tally.undescribed += 1
        else:
            known[asked.name] = _with_answers(known.get(asked.name, asked), recorded)

    def _mark(self, recorded: Recorded, identity: str, mark: Mark) -> None:
        name = {"choice": "option", "comparison": "winner", "rating": "score"}[recorded.asked.kind]
        label = Label(
            row=identity,
            id=recorded.id,
            criteria=recorded.asked.name,
            annotator=mark.annotator,
            kind=mark.kind,
            design=self._design or mark.design,
            judge_visible=mark.judge_visible,
            note=mark.note,
            at=mark.at or recorded.at or time.time(),
            **{name: str(mark.answer) if name == "option" else mark.answer},  # type: ignore[arg-type]
        )
        known = hash((identity, label.id, label.criteria, label.annotator, label.answer))
        if known in self._seen:  # a file with several judges repeats the right answer for each
            return
        if len(self._seen) < _MOST_SEEN:
            self._seen.add(known)
        self._keep_label(label)

    def _keep_label(self, label: Label) -> None:
        self.tally.labels += 1
        self._waiting.append(label)
        if len(self._waiting) >= _LABELS_A_COMMIT:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._labels.add(*self._waiting)
            self._waiting = []

    def _identity(self, model: str) -> str:
        """Nobody knows whether judges without a name are the same one: labels on one must not
        correct another.
        """
        return f"{model or NOT_SAID} ({self.origin})" if model in NAMELESS else model

    def questions(self) -> dict[str, Asked]:
        """Those that are described, by their names."""
        return {name: asked for own in self._questions.values() for name, asked in own.items()}

    def _configuration(self, judge: str) -> dict[str, object]:
        """As judges of ours describe themselves, so that labels, reports and comparisons find what
        they need.
        """
        own = self._questions[judge]
        asked = [merged(one, self._marked.get(name, one), (), None) for name, one in own.items()]
        if self._by_words:
            asked = [_by_words(one) for one in asked]
        models = {name: {"identity": self._identity(name)} for name in self._models[judge]}
        rating = next((one for one in asked if one.kind == "rating"), None)
        if (
            rating is not None
        ):  # a judge that asks for a number has one question, and is named after it
            low, high = rating.bounds
            settings = {
                "expression": criteria_of(rating).definition,
                "min": low,
                "max": high,
                "imported": judge,
            }
            return {"judge": rating.name, "settings": settings, "models": models, "criteria": []}
        recorded = {name: plain(one) for name, one in asked[0].settings.items()} if asked else {}
        ties = {"tie_enabled": asked[0].ties} if asked and asked[0].kind == "comparison" else {}
        settings = {**recorded, "imported": judge, **ties}
        return {
            "judge": IMPORTED,
            "settings": settings,
            "models": models,
            "criteria": [plain(criteria_of(one)) for one in asked],
        }


def _by_words(asked: Asked) -> Asked:
    """An export tells the options, not their order, which without points says whose share is
    measured.
    """
    if any(option.score is not None for option in asked.options):
        return asked
    return replace(
        asked, options=tuple(sorted(asked.options, key=lambda option: goodness(option.name)))
    )


def _with_answers(known: Asked, recorded: Recorded) -> Asked:
    """A question, with what one more record tells of it."""
    asked = recorded.asked
    said = [
        *(vote.answer for vote in recorded.votes if vote.answer is not None),
        *(mark.answer for mark in recorded.marks),
    ]
    if known.kind != asked.kind and said:  # a failure does not tell what was asked
        known = asked
    if asked.kind != "rating":
        return merged(known, asked, tuple(map(str, said)) if asked.kind == "choice" else (), None)
    for one in map(float, said):
        known = merged(known, asked, (), one)
    return known


@contextmanager
def imported_run(
    target: Path, design: Design | None = None, unreadable: UnreadablePolicy = "drop"
) -> Iterator[ImportedRun]:
    """A new run folder. It appears when all of it is written, and leaves
    nothing behind otherwise.
    """
    refuse_existing(target)
    new = target.with_name(f".{target.name}{UNFINISHED}")
    try:
        new.mkdir(parents=True, exist_ok=True)
        with locked(new / _LOCK, wait=False) as alone:
            if not alone:
                raise RunError(
                    "another import is writing {target}: wait for it, or give --run another name",
                    target=target,
                )
            with _whole_or_gone(new), bulk_ledger(new) as ledger:
                yield ImportedRun(new, ledger, design, unreadable)
        (new / _LOCK).unlink()
        new.replace(target)
    except OSError as error:
        raise RunError(
            "the run folder {target} cannot be made: {reason}",
            target=target,
            reason=reason_of(error),
        ) from error


@contextmanager
def _whole_or_gone(new: Path) -> Iterator[None]:
    """Empty at first, whatever an import that was killed left there; gone when this one fails."""
    whole = False
    for path in new.iterdir():
        if path.name != _LOCK:
            path.unlink()
    try:
        yield
        whole = True
    finally:
        if not whole:
            shutil.rmtree(new, ignore_errors=True)


def refuse_existing(target: Path) -> None:
    """An import makes a new run: it adds to none."""
    if target.is_symlink() or (
        target.exists() and not (target.is_dir() and not any(target.iterdir()))
    ):
        raise RunError(
            "{target} is there already: an import makes a new run folder, so give --run "
            "another name",
            target=target,
        )
