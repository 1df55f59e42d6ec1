"""What ``bench`` and ``criteria improve`` print, as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict


class FigureShape(TypedDict):
    """A figure with its interval."""

    value: Annotated[float | None, "null where it is not defined: see the reason"]
    lower: float | None
    upper: float | None
    n: Annotated[int, "rows that it stands on"]
    reason: str


class BehindShape(FigureShape):
    """By how much the best judge is better."""

    p_value: float | None
    smallest: Annotated[float | None, "the smallest difference that these rows could show"]


class CeilingShape(TypedDict):
    """How well people agree among themselves."""

    people: int
    pairs: Annotated[int, "rows that two people labelled, added up over all pairs of them"]
    agreement: float | None
    kappa: float | None


class DisagreementShape(TypedDict):
    """A row of which judge and people say different things."""

    row: int
    id: str | None
    judge_says: str | float
    people_say: str | float
    labels: Annotated[Mapping[str, str | float | None], "annotator: what they say"]
    explanation: str
    text: str


class BenchedJudgeShape(TypedDict):
    """How one judge fared on the labelled rows."""

    rank: int
    judge: str
    criteria: str
    identity: str
    models: Sequence[str]
    rows: Annotated[int, "labelled rows that it was asked about"]
    failed: Annotated[int, "of these, without a verdict"]
    reasons: Mapping[str, int]
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
    disagreements: Sequence[DisagreementShape]


class RankingShape(TypedDict):
    """Judges that answer one question."""

    question: str
    ceiling: CeilingShape | None
    baselines: Annotated[Mapping[str, FigureShape], "what judges would reach that read nothing"]
    chosen: Annotated[
        FigureShape | None, "the judge that ranks first, on rows that had no part in choosing it"
    ]
    cannot_be_told_apart: Annotated[Sequence[str], "the best judge and those as good as it"]
    judges: Annotated[Sequence[BenchedJudgeShape], "the best first"]


class ImprovementShape(TypedDict):
    """A proposal for criteria, and what it comes to on rows that its writer has not seen."""

    criteria: str
    before: Mapping[str, object]
    proposal: Mapping[str, object]
    explanation: str
    changes: Sequence[Mapping[str, str]]
    split: Annotated[Mapping[str, int], "seed, rows that the writer may see, rows held out"]
    shown: Sequence[Mapping[str, object]]
    agreement_before: float
    agreement_after: float
    gain: FigureShape
    p_value: float | None
    smallest: Annotated[float | None, "the smallest difference that these rows could show"]
    outcome: Literal["better", "worse", "cannot tell"]
    failed: int
    written: Annotated[str | None, "the new file of criteria"]
