"""Run folders as data for ``--json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NotRequired, TypedDict

from adjudge.core.domain.json_document import Count, fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.reading.objects import ObjectFile
from adjudge.errors import RunError
from adjudge.runs.cli.show import print_json
from adjudge.runs.folder import RunInfo, records_of, run_info
from adjudge.runs.results.cost import cost_of
from adjudge.runs.results.report import Report


def print_run(
    report: Report, folder: Path, files: Sequence[Path | ObjectFile] = (), *, votes: bool = False
) -> None:
    """Print a run folder as JSON: its report, its configuration and every judgment. ``votes``:
    include the votes.
    """
    rows = records_of(folder, votes=votes)
    print_json(report, rows, files=files, run=run_with_configuration(folder, judgments_follow=True))


class BatchShape(TypedDict):
    """A batch that was sent to a provider."""

    id: str
    provider: str
    remote_id: str | None
    state: str
    requests: int
    counts: Mapping[str, object] | None
    created: float | None
    expires: float | None


class UnreadableRunShape(TypedDict):
    """A run folder that cannot be read."""

    folder: str
    state: Literal["unreadable"]
    error: Annotated[str, "why it cannot be read"]


class RunShape(TypedDict):
    """A run folder in the list of runs."""

    folder: str
    state: str
    judgments: Annotated[Mapping[str, Count], "judge: status: how many"]
    judge_identities: Mapping[str, str]
    excluded_models: Mapping[str, Count]
    votes: int
    failed_votes: int
    undecided_votes: Annotated[int, "votes with an answer that holds no verdict"]
    failed_calls: int
    calls: Count
    cost_usd: float | None
    unpriced_models: Sequence[str]
    saved_by_prompt_caching_usd: NotRequired[float]
    batches: NotRequired[Sequence[BatchShape]]


class ConfiguredRunShape(RunShape):
    """A run folder whose judgments follow."""

    configuration: Annotated[Mapping[str, object], "judge: its settings"]


def run_with_configuration(folder: Path, *, judgments_follow: bool = False) -> JsonDict:
    """Return a run's data with its judges' configuration. ``judgments_follow``: see
    ``run_info``.
    """
    info = run_info(folder, judgments_follow=judgments_follow)
    return {**run_data(info), "configuration": info.configuration}


def run_data(info: RunInfo | tuple[Path, RunError]) -> JsonDict:
    """Return a run's numbers and cost, or the error if it cannot be read."""
    if not isinstance(info, RunInfo):
        return fill(UnreadableRunShape, folder=str(info[0]), state="unreadable", error=str(info[1]))
    data = fill(
        RunShape,
        info,
        folder=str(info.folder),
        judgments=info.judges,
        judge_identities=info.identities,
        excluded_models=info.excluded,
        calls={model: usage.calls for model, usage in info.usage.items()},
        **cost_of(info.usage, info.prices).to_dict(),
        batches=[fill(BatchShape, batch) for batch in info.batches],
    )
    return {**info.facts, **data}
