"""Second opinions about a run's rows, by a model that writes reasons.

They are a run of their own. The verdicts of the first run, and everything computed from them, stay
as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypedDict

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import Because, JudgmentRecord, SecondOpinionRecord
from adjudge.core.domain.results import Result
from adjudge.core.engine.run import RunSettings
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.model import Model
from adjudge.core.gateway.opener import open_model
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.learnt_settings import Learnt
from adjudge.errors import SetupError
from adjudge.runs.folder import records_of
from adjudge.runs.project import DEFAULT_BELOW
from adjudge.runs.second_opinions import ChosenJudgment, OpinionSelection, check_writer, opinion_of
from adjudge.runs.trusted_folders import own_folder

FACT = "second_opinion_of"
"""The fact of a run of opinions that names the run that they are about."""


class OpinionShape(TypedDict):
    """A second opinion, in JSON."""

    judge: str
    criteria: str
    row: int
    id: str | None
    because: Because
    verdict: Annotated[str | None, "of the run; it stays as it is"]
    probability: Annotated[
        float | None, "of that verdict, calibrated if asked for; null if the run has none"
    ]
    second_opinion: Annotated[str | None, "of the other model; null if it gave none"]
    agrees: Annotated[bool | None, "null if one of them has no verdict"]
    explanation: str | None
    reason: Annotated[str | None, "why there is no second opinion"]


@dataclass(frozen=True)
class SecondOpinion:
    """Another model's opinion of a row. It does not change the run's verdict."""

    record: JudgmentRecord
    """The judgment that it is about."""
    answer: SecondOpinionRecord

    @property
    def because(self) -> Because:
        """The reason why it was asked."""
        return self.answer.because

    @property
    def probability(self) -> float | None:
        """The probability of the run's verdict."""
        return self.answer.probability

    @property
    def option(self) -> str | None:
        """The other model's verdict."""
        return self.answer.verdict

    @property
    def explanation(self) -> str | None:
        return self.answer.explanation

    @property
    def reason(self) -> str | None:
        """The reason why there is no opinion."""
        return self.answer.reason

    @property
    def agrees(self) -> bool | None:
        """Return True if both verdicts are the same; None if there are not two."""
        return self.answer.agrees_with(self.record.verdict if self.record.scored else None)

    def to_dict(self) -> JsonDict:
        """Return it in the shape of ``OpinionShape``."""
        record = self.record
        return {
            "judge": record.judge,
            "criteria": record.criterion,
            "row": record.row,
            "id": record.id,
            "because": self.because,
            "verdict": record.verdict if record.scored else None,
            "probability": self.probability,
            "second_opinion": self.option,
            "agrees": self.agrees,
            "explanation": self.explanation,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Opinions:
    """The second opinions about a run."""

    run: Path
    folder: Path
    """The run in which they are kept, with their cost."""
    model: str
    opinions: tuple[SecondOpinion, ...]
    good: int
    """Judgments that were not asked about: the best verdict, and certain."""
    left_out: int
    """Judgments that cannot be asked about: comparisons, numbers, and those that no question
    describes.
    """
    skipped: int
    """Rows that the run itself skipped."""
    is_calibrated: bool
    """True if learned temperatures were applied to probabilities; each opinion says if its own
    was.
    """

    @property
    def agreement(self) -> Counter[bool | None]:
        """The number of opinions that agree, differ, or cannot be compared (None)."""
        return Counter(opinion.agrees for opinion in self.opinions)


def explain_run(
    run: str | Path,
    model: str | Model,
    *,
    below: float = DEFAULT_BELOW,
    calibration: str | Path | None = None,
    folder: str | Path | None = None,
    budget: Budget | None = None,
    language: str = "en",
) -> Opinions:
    """Ask a model that writes about the rows of a run that have no verdict, not the best one, or
    one with a probability smaller than ``below``.

    ``calibration``: a file of ``adjudge calibrate --probabilities -o FILE``, whose temperatures are
    applied to the run's probabilities; refused for a judge that it was not learned for. It moves
    no verdict.

    The model does not see the run's verdicts. Its answers are kept in ``folder``, by default next
    to the run, and are not asked for again.

    >>> explain_run("runs/eval", "openai/gpt-4o-mini").agreement  # doctest: +SKIP
    Counter({True: 9, False: 2})
    """
    run, learnt = Path(run), Learnt.read(calibration) if calibration else None
    writer = open_model(model) if isinstance(model, str) else model
    check_writer(writer)
    judge = DirectJudge(writer, language=language)
    selection = OpinionSelection.of_run(judge, run, below, learnt)
    chosen_rows = [
        chosen for record in records_of(run, votes=True) if (chosen := selection.choose(record))
    ]
    # a link is not followed
    own = explained_folder(run)
    folder = Path(folder) if folder else own_folder(own, own.parent)
    if folder.resolve() == run.resolve():
        raise SetupError("{folder} is the run itself: name another folder", folder=folder)
    results = _ask(chosen_rows, judge, folder, budget, run)
    opinions = (
        SecondOpinion(chosen.record, opinion_of(chosen, writer.name, result))
        for chosen, result in zip(chosen_rows, results, strict=True)
    )
    return Opinions(
        run,
        folder,
        writer.name,
        tuple(opinions),
        selection.good,
        selection.left_out,
        selection.skipped,
        learnt is not None,
    )


def _ask(
    chosen_rows: Sequence[ChosenJudgment],
    judge: DirectJudge,
    folder: Path,
    budget: Budget | None,
    run: Path,
) -> Sequence[Result]:
    if not chosen_rows:
        return []
    return judge.evaluate(
        [chosen.case.instance for chosen in chosen_rows],
        [_marked(chosen.criteria) for chosen in chosen_rows],
        run=RunSettings(folder, facts={FACT: str(run.resolve())}),
        budget=budget,
    )


def _marked(criteria: Criteria) -> Criteria:
    """Name the criterion so that its figures, of chosen rows only, are not taken for the run's."""
    return replace(criteria, name=marked_name(criteria.name))


def marked_name(criterion: str) -> str:
    """Return the name of a criterion in the run of opinions."""
    return f"{criterion} (second opinion)"


def explained_folder(run: Path) -> Path:
    """Return the folder for the opinions about a run: next to what was named."""
    place = run if run.name not in ("", "..") else run.resolve()
    return place.with_name(f"{place.name}-explained")
