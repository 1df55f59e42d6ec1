"""The ``--json`` output of ``adjudge bench`` and ``adjudge criteria improve``, as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from adjudge.features.bench.published_results import PublishedSet
from adjudge.runs.exporters.documents import Count, Envelope, FigureShape


class BehindShape(FigureShape):
    """The lead of the best judge."""

    p_value: float | None
    smallest: Annotated[float | None, "the smallest difference that these rows could show"]


class AmongPeopleShape(TypedDict):
    """The agreement of two people, and of the judge with one of them, on the same rows."""

    people: int
    pairs: Annotated[
        int, "rows that two people labelled and the judge decided, over all pairs of people"
    ]
    agreement: Annotated[float, "of two people"]
    kappa: float | None
    judge_agreement: Annotated[float, "of the judge with one of them"]
    judge_kappa: float | None


class DisagreementShape(TypedDict):
    """A row on which the judge and people disagree."""

    row: int
    id: str | None
    judge_says: str | float
    people_say: str | float
    labels: Annotated[Mapping[str, str | float | None], "annotator: what they say"]
    explanation: str
    text: str


class BenchedJudgeShape(TypedDict):
    """The results of one judge on the labelled rows."""

    rank: int
    judge: str
    criteria: str
    identity: str
    models: Sequence[str]
    rows: Annotated[int, "labelled rows that it was asked about"]
    failed: Annotated[int, "of these, without a verdict"]
    reasons: Count
    figure: Literal["accuracy", "Spearman"]
    agreement: FigureShape
    kappa: FigureShape
    single_vote: FigureShape
    consistency: FigureShape
    order_effect: FigureShape
    confidence_error: Annotated[FigureShape, "less what chance makes of it"]
    confidence_error_by_chance: FigureShape
    brier: FigureShape
    calls: int
    tokens: int
    cost_usd: float | None
    cost_usd_per_1000_rows: float | None
    unpriced_models: Sequence[str]
    seconds_per_row: float | None
    behind_best: BehindShape | None
    told_apart_from_best: Annotated[
        bool | None, "whether the best judge is better; null for the best itself"
    ]
    details: Annotated[Mapping[str, object], "every agreement figure, as calibrate prints it"]
    among_people: AmongPeopleShape | None
    disagreements: Sequence[DisagreementShape]


class RankingShape(TypedDict):
    """Judges that answer one question."""

    question: str
    ceiling: Annotated[AmongPeopleShape | None, "of the first judge, as its among_people"]
    baselines: Annotated[Mapping[str, FigureShape], "what judges would reach that read nothing"]
    chosen: Annotated[
        FigureShape | None, "the judge that ranks first, on rows that had no part in choosing it"
    ]
    cannot_be_told_apart: Annotated[Sequence[str], "the best judge and those as good as it"]
    judges: Annotated[Sequence[BenchedJudgeShape], "the best first"]


class ImprovementShape(TypedDict):
    """A proposal for criteria, and its results on rows that its writer has not seen."""

    criteria: str
    before: Mapping[str, object]
    proposal: Mapping[str, object]
    explanation: str
    changes: Sequence[Mapping[str, str]]
    split: Annotated[Count, "seed, rows that the writer may see, rows held out"]
    shown: Sequence[Mapping[str, object]]
    agreement_before: float
    agreement_after: float
    gain: FigureShape
    p_value: float | None
    smallest: Annotated[float | None, "the smallest difference that these rows could show"]
    outcome: Literal["better", "worse", "cannot tell"]
    failed: int
    written: Annotated[str | None, "the new file of criteria"]


class Bench(Envelope):
    """The output of ``adjudge bench --json``."""

    kind: Literal["bench"]
    summary: Count
    data: str
    missing: Annotated[
        Literal["drop", "tie", "wrong"], "what a judgment without a verdict counts as"
    ]
    level: float
    results: Annotated[
        Sequence[RankingShape], "one; where recorded judges answer several questions, one for each"
    ]


class PublishedDocument(Envelope):
    """The output of bench --published."""

    kind: Literal["published"]
    summary: Count
    results: Sequence[PublishedSet]


class Improvements(Envelope):
    """The output of ``adjudge criteria improve --json``."""

    kind: Literal["improvement"]
    summary: Count
    results: Annotated[
        Sequence[ImprovementShape], "one, or none where there was nothing to improve"
    ]
