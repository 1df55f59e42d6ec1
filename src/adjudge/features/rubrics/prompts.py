"""The ballots that a rubric judge may have sent about a stored row, to show their prompts again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.record import JudgmentRecord, VoteRecord
from adjudge.core.domain.vote import Ballot, Mode
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.errors import AdjudgeError
from adjudge.features.rubrics.judge import RubricJudge
from adjudge.features.rubrics.record import RubricPointRecord, rubric_detail
from adjudge.features.rubrics.rubric import Kind, Point

_SETTINGS = ("evidence", "show_points", "text_field", "context_fields")
"""Those that change a prompt."""
_MODES: tuple[Mode, ...] = ("generate", "likelihood")
_LABEL = re.compile(r"(?:^|, )(\d{1,3})[a-z] ")
"""The label of a point in the stored answers of a reply."""
_MOST = 200
"""Points of a row for which prompts are looked for."""


def ballots_on_points(
    configuration: JudgeConfiguration, record: JudgmentRecord, vote: VoteRecord
) -> Iterator[tuple[Ballot, str]]:
    """Yield every ballot that may have brought this vote, with the text of its point; with no text
    if it asks about several.
    """
    detail = rubric_detail(record)
    if detail is None or len(detail.points) > _MOST:
        return
    item = Instance(record.fields, record.id)
    points = [_point(point) for point in detail.points]
    asked = {int(number) for number in _LABEL.findall(vote.option or "")}
    for judge in _judges(configuration, vote.model):
        for ballot, about in judge.possible_ballots(item, points, asked):
            text = about[0].text if len(about) == 1 else ""
            yield ballot, text
            yield replace(ballot, mode="decide"), text


def _judges(configuration: JudgeConfiguration, model: str) -> list[RubricJudge]:
    """Return the judge, for each way in which its model may have answered."""
    settings = configuration.settings
    kept: dict[str, Any] = {name: settings[name] for name in _SETTINGS if name in settings}
    judges = []
    for mode in _MODES:
        # compared options have no quotes; and a run folder may come from anyone
        with suppress(AdjudgeError, TypeError, ValueError):
            scripted = ScriptedModel(name=model)
            judges.append(RubricJudge(scripted, language=configuration.language, mode=mode, **kept))
    return judges


def _point(stored: RubricPointRecord) -> Point:
    """Return a stored point as questions need it."""
    return Point(
        id=stored.id,
        text=stored.text,
        points=Fraction(stored.points).limit_denominator(10**9),
        kind=cast(Kind, stored.kind),
        levels=stored.levels,
        most=len(stored.answers) - 1 if stored.kind == "count" else 0,
    )
