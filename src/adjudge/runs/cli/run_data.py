"""Run folders as data for ``--json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.ledger.pending import Batch
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


def run_with_configuration(folder: Path, *, judgments_follow: bool = False) -> JsonDict:
    """Return a run's data with its judges' configuration. ``judgments_follow``: see
    ``run_info``.
    """
    info = run_info(folder, judgments_follow=judgments_follow)
    return {**run_data(info), "configuration": info.configuration}


def run_data(info: RunInfo | tuple[Path, RunError]) -> JsonDict:
    """Return a run's numbers and cost, or the error if it cannot be read."""
    if not isinstance(info, RunInfo):
        return {"folder": str(info[0]), "state": "unreadable", "error": str(info[1])}
    return {
        **info.facts,
        "folder": str(info.folder),
        "state": info.state,
        "judgments": info.judges,
        "judge_identities": info.identities,
        "excluded_models": info.excluded,
        **some_of(info, "votes", "failed_votes", "undecided_votes", "failed_calls"),
        "calls": {model: usage.calls for model, usage in info.usage.items()},
        **cost_of(info.usage, info.prices).to_dict(),
        **({"batches": [_batch(batch) for batch in info.batches]} if info.batches else {}),
    }


def _batch(batch: Batch) -> JsonDict:
    return {
        **some_of(batch, "id", "provider", "remote_id"),
        "state": batch.state.value,
        **some_of(batch, "requests", "counts", "created", "expires"),
    }
