"""Judge rows by rubrics: all points in one request, or a request per point."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import cast, overload

from adjudge.core.aio.event_loop import same_as, sync_edge
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import Status
from adjudge.core.domain.vote import Ballot, Mode, Vote
from adjudge.core.engine.run import RunLike
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import ModelLike
from adjudge.core.judges.frames import F, with_verdicts
from adjudge.core.judges.inputs import DataSet, Frame, as_instance, items_of, one_or_all
from adjudge.core.judges.judge import InstanceLike, Judge, Progress
from adjudge.core.judges.settings import (
    AskSettings,
    ModelPanel,
    OnFailure,
    alias,
    check_mode,
    check_votes,
    one_of,
)
from adjudge.core.pooling.majority import notes_on
from adjudge.core.prompts.renderer import ABOUT_POINTS
from adjudge.errors import SetupError
from adjudge.features.evidence.grouped_questions import split_evenly
from adjudge.features.evidence.judge import with_wording
from adjudge.features.evidence.support import INVENTED
from adjudge.features.rubrics.files import RubricBook, as_book
from adjudge.features.rubrics.layouts import parse_rubric
from adjudge.features.rubrics.pool import answers_in, points_asked, pool_points, was_unreachable
from adjudge.features.rubrics.questions import (
    POINT,
    POINTS,
    PointQuestion,
    PointsQuestion,
    asked_point,
    shown_point,
    text_in,
)
from adjudge.features.rubrics.result import RubricResult
from adjudge.features.rubrics.rubric import CANNOT_TELL, Point, Rubric
from adjudge.features.rubrics.settings import (
    CONTEXT_FIELDS,
    EVIDENCE,
    JUDGED,
    PER_POINT,
    RUBRIC_FIELDS,
    THEME_FIELDS,
    Evidence,
    PerPoint,
)
from adjudge.features.rubrics.wording import (
    CRITERION,
    NO,
    YES,
    likelihood_criteria,
    point_criteria,
)
from adjudge.messages import Message

MOST_AGAIN = 2
"""Further requests for points that a reply left out, at most."""
Given = InstanceLike | Sequence[InstanceLike] | Frame | DataSet
Told = Progress[RubricResult]


@dataclass(frozen=True)
class RubricJudge(AskSettings, Judge[Instance, RubricResult]):
    """Judges a text by the points in its rubric, and adds up their worth.

    A point without a verdict is never counted as not met. The score is None if it depends on such a
    point, and ``bounds`` has its least and greatest value.

    Parameters:
        models: one model or a panel: ids, model objects or functions ``prompt -> text``; None is
            the embedded model.
        model: another name of ``models``.
        rubric: the points for all rows, as data, or a file, which may also hold a rubric per row.
            None: each row has its own, in a field such as ``rubric`` or ``rubrics``.
        per: "row": all points in one request, 20 at most; "point": a request per point. Models
            that compare options and write nothing are always asked per point.
        evidence: "asked": a quote is asked for and looked up, and shown if it is in the text;
            "required": a point counts as met only with such a quote, as do points with
            ``evidence: true`` in any case.
        show_points: show the model what each point is worth, as HealthBench does.
        text_field: the field that is judged.
        context_fields: the fields that are shown next to it, if a row has them.
        rubric_field: the field with the rubric; by default it is found.
        themes_field: the field with the row's own tags; by default it is found.
        votes: votes per model and point.
        strictness: another name of ``votes``.
        language: of prompts and explanations: "en" or "ru".
        temperature: by default the model's own setting, else 0 for one vote and 1 for several.
        seed: of the first vote, the next one has the next number; None: the model's own, if it
            has one.
        mode: "generate": the model writes verdicts with quotes; "likelihood": answers are
            compared by their log-probability. By default local models do the latter.
        max_repairs: how often a model is asked again after a reply that cannot be read.
        on_failure: what a row without a score becomes: "abstain", "raise" or "random".
    """

    models: ModelLike | Sequence[ModelLike] | None = field(default=None, hash=False)
    rubric: object = field(default=None, hash=False)
    _: KW_ONLY
    per: PerPoint = "row"
    evidence: Evidence = "asked"
    show_points: bool = False
    text_field: str = JUDGED
    context_fields: Sequence[str] = CONTEXT_FIELDS
    rubric_field: str | None = None
    themes_field: str | None = None
    votes: int = 1
    model: ModelLike | Sequence[ModelLike] | None = alias("models")
    strictness: int | None = alias("votes")
    mode: Mode | None = None
    on_failure: OnFailure = "abstain"

    def check_settings(self) -> None:
        """Raise a SetupError for invalid settings."""
        super().check_settings()
        check_votes("votes", self.votes)
        one_of("per", self.per, PER_POINT)
        one_of("evidence", self.evidence, EVIDENCE)
        context_fields = self.context_fields
        object.__setattr__(
            self,
            "context_fields",
            (context_fields,) if isinstance(context_fields, str) else tuple(context_fields),
        )
        if self.rubric is not None:
            object.__setattr__(self, "rubric", as_book(self.rubric))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_mode(self.mode, self.panel)
        for name, model in self.panel.items():
            if self.evidence == "required" and model.capabilities.decisions:
                raise SetupError(
                    "{name} is a decision model, which generates no text: evidence='required' "
                    "needs a model that does",
                    name=name,
                )
            if self.evidence == "required" and self._compares_options(name):
                raise SetupError(
                    "{name} only compares options and generates no text: evidence='required' "
                    "needs a model that does, or mode='generate'",
                    name=name,
                )

    def open_models(self) -> ModelPanel:
        """Return the models, ready to be asked."""
        return ModelPanel.of(self.models)

    @property
    def samples(self) -> int:
        """Votes per model and point."""
        return self.votes

    @cached_property
    def criteria(self) -> Criteria:
        """The criteria that a result refers to."""
        return replace(point_criteria(self.language, self.text_field), name=CRITERION, options=())

    def row_criteria(self) -> Criteria:
        return replace(self.criteria, context_fields=tuple(self.context_fields))

    def recorded_settings(self) -> dict[str, object]:
        """Return the settings with the content of the rubrics.

        Changing the file then makes another judge.
        """
        book = self.rubric
        return super().recorded_settings() | {
            "rubric": book.identity if isinstance(book, RubricBook) else None
        }

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return the configuration with the wording of the questions about points."""
        settings = super().configuration(criteria)
        return with_wording(
            settings, self.language, sentences=False, further_templates=ABOUT_POINTS
        )

    # -- judging -------------------------------------------------------------

    @overload
    # a text is a sequence of texts, too
    async def aevaluate(  # type: ignore[overload-overlap]
        self,
        instances: InstanceLike,
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Told | None = None,
    ) -> RubricResult: ...
    @overload
    async def aevaluate(
        self,
        instances: Sequence[InstanceLike] | Frame | DataSet,
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Told | None = None,
    ) -> list[RubricResult]: ...
    @overload
    async def aevaluate(
        self,
        instances: F,
        *,
        columns: Mapping[str, str],
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Told | None = None,
    ) -> F: ...
    async def aevaluate(
        self,
        instances: Given | F,
        *,
        columns: Mapping[str, str] | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Told | None = None,
    ) -> RubricResult | list[RubricResult] | F:
        """Judge one row, or a list of rows: mappings or Instances with the text and, unless the
        judge has the rubric, their rubric. With ``columns`` (field → column, or {}), a data frame
        comes back with the verdicts.

        ``run``: a folder that keeps every answer; answers in it are not asked again.
        ``budget``: an ``adjudge.Budget``; BudgetSpent is raised at its limit.
        ``progress``: True shows a bar, a function is called with each result as it comes.
        """

        async def judge(given: object) -> list[RubricResult]:
            rubrics = (self.rubric_field,) if self.rubric_field else RUBRIC_FIELDS
            themes = (self.themes_field,) if self.themes_field else THEME_FIELDS
            also = (self.text_field, *self.context_fields, *rubrics, *themes)
            rows = [as_instance(item, self.text_field, also) for item in items_of(given)]
            return await self.judge_items(rows, run=run, budget=budget, progress=progress)

        if columns is not None:
            return await with_verdicts(cast(F, instances), columns, judge)
        return one_or_all(instances, await judge(instances))

    evaluate = sync_edge(aevaluate)
    __call__ = same_as(evaluate)

    def rubric_of(self, item: Instance) -> Rubric:
        """Return the row's rubric; raise a SetupError if it has no valid one."""
        if isinstance(self.rubric, RubricBook):
            rubric = self.rubric.of(item.id)
            if rubric is None:
                raise SetupError(
                    "the file has no rubric for row {row!r}: add one, or 'others' for all rows "
                    "without a rubric",
                    row=item.id,
                )
            return rubric
        fields_wanted = (self.rubric_field,) if self.rubric_field else RUBRIC_FIELDS
        value = next((item.fields[name] for name in fields_wanted if name in item.fields), None)
        if value is None:
            raise SetupError(
                "the row has no rubric, because it lacks the field {wanted}; it has: {found}",
                wanted=", ".join(fields_wanted),
                found=", ".join(item.fields),
            )
        return parse_rubric(value if isinstance(value, str) else tuple(value))

    def check(self, item: Instance) -> None:
        """Raise a SetupError for a row without the text, or without a valid rubric."""
        if not isinstance(item.fields.get(self.text_field), str):
            raise SetupError(
                "a rubric judges a single text, so the row needs the field {name!r}; it has: "
                "{found}",
                name=self.text_field,
                found=", ".join(item.fields),
            )
        self.rubric_of(item)

    def plan(self, item: Instance, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return ballots on every point by every model, then on points left out by replies."""
        points = self.rubric_of(item).points
        if not votes:
            return self.plan_all(item)
        asked_ids = {vote.ballot.id for vote in votes}
        again = [self._again(item, vote, points) for vote in votes]
        return [ballot for ballot in again if ballot is not None and ballot.id not in asked_ids]

    def plan_all(self, item: Instance) -> Sequence[Ballot]:
        """Return all ballots except those that repeat points that a reply left out."""
        points = self.rubric_of(item).points
        numbered = list(enumerate(points, 1))
        return [
            ballot
            for model in self.panel
            for sample in range(self.samples)
            for ballot in (
                [self._alone(item, *numbered_point, model, sample) for numbered_point in numbered]
                if self._asks_alone(model)
                else [
                    self._together(item, some, model, sample, 0) for some in split_evenly(numbered)
                ]
            )
        ]

    def possible_ballots(
        self, item: Instance, points: Sequence[Point], left_out: Collection[int] = ()
    ) -> Iterator[tuple[Ballot, Sequence[Point]]]:
        """Yield each ballot that may be sent about these points, with the points it asks about,
        whether they are asked together or alone.

        ``left_out``: numbers of points that a reply left out, so they are asked about again.
        """
        numbered = list(enumerate(points, 1))
        again = [pair for pair in numbered if pair[0] in left_out]
        for model in self.panel:
            for number, point in numbered:
                yield self._alone(item, number, point, model, 0), [point]
            for some in [*split_evenly(numbered), *([again] if again else [])]:
                ballot = self._together(item, some, model, 0, int(some is again))
                yield ballot, [point for _, point in some]

    def pool(self, item: Instance, votes: Sequence[Vote]) -> RubricResult:
        """Decide each point by its own votes; set the score if no missing verdict could
        change it.
        """
        try:
            rubric = self.rubric_of(item)
        except SetupError:
            if votes:
                raise
            return RubricResult(  # a row that is not judged need not have a rubric
                instance=item,
                criteria=self.criteria,
                status=Status.FAILED,
                text_field=self.text_field,
            )
        result = RubricResult(
            instance=item,
            criteria=self.criteria,
            votes=tuple(votes),
            rubric=rubric,
            points=pool_points(rubric, votes),
            themes=self._themes(item),
            text_field=self.text_field,
            invented=_count_invented(votes),
        )
        value = result.exact.value
        if value is None:
            failed = was_unreachable(votes) or not all(
                missing_point.undecided for missing_point in result.missing
            )
            status = Status.FAILED if failed else Status.ABSTAINED
        else:
            status = Status.SCORED
        return replace(
            result,
            status=status,
            score=None if value is None else float(value),
            explanation=_summary(result),
            agreement=_agreement(result),
            notes=notes_on(votes, self.temperatures),
        )

    def fallback_result(self, result: RubricResult, choice: random.Random) -> RubricResult:
        """Return a random score within the bounds; the status stays the same."""
        return replace(result, score=choice.uniform(*result.bounds), fallback="random")

    # -- ballots ---------------------------------------------------------------

    def _compares_options(self, model: str) -> bool:
        return (self.mode or self.panel[model].mode) == "likelihood"

    def _asks_alone(self, model: str) -> bool:
        writes_nothing = self.panel[model].capabilities.decisions or self._compares_options(model)
        return self.per == "point" or bool(writes_nothing)

    def _shown_fields(self, item: Instance) -> dict[str, str | Sequence[str]]:
        context = {
            name: item.fields[name]
            for name in self.context_fields
            if name in item.fields and name != self.text_field
        }
        return {**context, JUDGED: text_in(item, self.text_field)}

    def _text(self, point: Point) -> str:
        return shown_point(point, self.language, with_points=self.show_points)

    def _together(
        self,
        item: Instance,
        some: Sequence[tuple[int, Point]],
        model: str,
        sample: int,
        again: int,
    ) -> Ballot:
        required = self.evidence == "required"
        asked_points = tuple(
            asked_point(point, number, quotes_required=required) for number, point in some
        )
        texts = tuple(
            f"{labelled.label}: {self._text(point)}"
            for labelled, (_, point) in zip(asked_points, some, strict=True)
        )
        return self.ballot_for(
            point_criteria(self.language, POINTS),
            Instance({**self._shown_fields(item), POINTS: texts}),
            PointsQuestion((), count=len(asked_points), asked=asked_points, again=again),
            "rubric_points",
            model,
            sample,
            "generate",
        )

    def _alone(self, item: Instance, number: int, point: Point, model: str, sample: int) -> Ballot:
        shown_as = asked_point(point, number, quotes_required=self.evidence == "required")
        answers = () if point.kind == "met" else point.answers
        likely = self._compares_options(model)
        make = likelihood_criteria if likely else point_criteria
        offered = shown_as.answers
        if likely:
            offered = tuple(name for name in answers if name != CANNOT_TELL) or (YES, NO)
        text = point.text if likely and not answers else self._text(point)
        return self.ballot_for(
            make(self.language, POINT, answers),
            Instance({**self._shown_fields(item), POINT: text}),
            PointQuestion(offered, asked=(shown_as,)),
            "rubric_point",
            model,
            sample,
            self.mode,
        )

    def _again(self, item: Instance, vote: Vote, points: Sequence[Point]) -> Ballot | None:
        """Return a ballot on the points that a reply left out.

        Return None if it left out none, was unreadable, or was asked again often enough.
        """
        question = vote.ballot.question
        if not isinstance(question, PointsQuestion) or vote.verdict is None:
            return None
        answered = answers_in(vote)
        left_out = {id for id in points_asked(vote) if id not in answered}
        if not left_out or question.again >= MOST_AGAIN:
            return None
        some = [(number, point) for number, point in enumerate(points, 1) if point.id in left_out]
        return self._together(item, some, vote.model, vote.sample, question.again + 1)

    def _themes(self, item: Instance) -> tuple[str, ...]:
        fields_wanted = (self.themes_field,) if self.themes_field else THEME_FIELDS
        value = next((item.fields[name] for name in fields_wanted if name in item.fields), ())
        texts = (value,) if isinstance(value, str) else tuple(value)
        return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))


def _count_invented(votes: Sequence[Vote]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for vote in votes:
        count = vote.metadata.get(INVENTED)
        if isinstance(count, int):
            counts[vote.model] = counts.get(vote.model, 0) + count
    return counts


def _summary(result: RubricResult) -> Message:
    detail = result.detail()
    met_count = sum(point.is_met for point in detail.points)
    summary = Message("{met} of {count} points met", met=met_count, count=len(result.points))
    failed = detail.failed_gates
    if failed:
        return Message("{whole}; missed: {gates}", whole=summary, gates=", ".join(failed))
    if result.missing:
        return Message(
            "{whole}; {missing} without a verdict", whole=summary, missing=len(result.missing)
        )
    return summary


def _agreement(result: RubricResult) -> float | None:
    """Return the share of all answers that agree with the verdict on their point."""
    total = sum(sum(verdict.counts.values()) for verdict in result.points)
    agreeing = sum(verdict.counts.get(verdict.answer or "", 0) for verdict in result.points)
    return agreeing / total if total else None
