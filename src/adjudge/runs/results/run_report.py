"""The report of a run folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.domain.json_types import object_in
from adjudge.core.domain.numbers import number_of
from adjudge.core.ledger.file import OPINIONS, repeated_usage
from adjudge.messages import Message, join, plural
from adjudge.runs.counts import (
    count_failed_calls,
    count_judgments,
    count_retries,
    count_votes,
)
from adjudge.runs.folder import RunCounts, checked_rows, reading, records_of, run_counts
from adjudge.runs.results.notes import (
    left_out_notes,
    lost_in,
    lost_reply_notes,
    payment_notes,
    reader_notes,
)
from adjudge.runs.results.paired_gate import compared_with_baseline, paired_gates
from adjudge.runs.results.report import ENTRIES, Report, ReportTally, skipped_rows
from adjudge.runs.results.setup import Baseline, Setup
from adjudge.runs.traffic_rows import ROWS_FILE, is_of_sample
from adjudge.trust.report import calibrations_of

if TYPE_CHECKING:
    from adjudge.runs.results.score_slices import ScoreSlices
    from adjudge.trust.calibration import Calibration


def report_of_run(
    run: str | Path,
    shown: int = ENTRIES,
    baseline: Path | None = None,
    by: str | None = None,
    language: str | None = None,
    info: RunCounts | None = None,
) -> Report:
    """Return the report of a run folder so far. The listed rows include their votes.

    ``baseline``: a run to compare with instead of the original baseline. ``by``: the column whose
    values are reported separately. ``language``: by default the judges'. ``info``: the result of
    ``run_counts``, if already known.
    """
    info = info or run_counts(run)
    setup = Setup.of_run(info)
    setup = replace(setup, baseline=baseline_of(baseline)) if baseline else setup
    tally = ReportTally(setup, shown)
    tally.kept = skipped_rows(info.facts)
    with reading(run):  # a listed row is decoded here, and may hold what adjudge did not write
        for judgments in checked_rows(run):
            tally.add_stored(judgments)
        report = tally.report()
    calibrations = calibrations_of(run, by)
    report = replace(
        report,
        notes=(
            *report.notes,
            *payment_notes(info.batches),
            *lost_reply_notes(lost_in(info.facts)),
            *reader_notes(info.facts),
            *left_out_notes(info.facts),
            *_traffic_notes(run, setup),
        ),
        gates=(*report.gates, *paired_gates(setup, Path(run))),
        compared=compared_with_baseline(setup, Path(run), by),
        used=info.usage,
        counts=join(", ", (count_judgments(report.judged), votes_message(info))),
        calibrations=calibrations,
        slices=_slices(run, by, calibrations, setup) if by else (),
        told_in=language,
        failed_calls=info.failed_calls,
        unanswered=info.failed_votes,
    )
    if report.counts_requests_again:
        with reading(run) as ledger:
            report = report.counting_requests_once(repeated_usage(ledger))
    return report if info.state == "complete" else report.unfinished()


def _traffic_notes(run: str | Path, setup: Setup) -> Iterator[Message]:
    """Yield a note if some rows were taken from traffic more often than others: the figures of the
    judged rows are then not those of the traffic.
    """
    if Path(setup.data).name != ROWS_FILE:
        return
    rows: dict[str, bool] = {}
    for record in records_of(run):
        rows.setdefault(record.name, is_of_sample(record))
    if apart := sum(not sampled for sampled in rows.values()):
        yield plural(
            "{apart} of {count} row was taken for its value, not at random: the figures and gates "
            "here are about the judged rows; 'adjudge follow' prints the rates of the traffic",
            "{apart} of {count} rows were taken for their values, not at random: the figures and "
            "gates here are about the judged rows; 'adjudge follow' prints the rates of the "
            "traffic",
            len(rows),
            apart=apart,
        )


def _slices(
    run: str | Path, by: str, calibrations: Sequence[Calibration], setup: Setup
) -> tuple[ScoreSlices, ...]:
    from adjudge.runs.results.score_slices import score_slices_by_judge  # loaded only if asked for

    corrected = [calibration for calibration in calibrations if calibration.slices]
    return score_slices_by_judge(records_of(run), by, corrected, setup.judges, setup.cluster)


def baseline_of(run: Path) -> Baseline:
    """Return a run's figures as a baseline for other runs."""
    report = report_of_run(run, shown=0)
    return Baseline.of(
        run,
        (
            (section.judge, figure, report.option_scores(section))
            for section in report.sections
            for figure in section.figures()
        ),
    )


def votes_message(info: RunCounts) -> Message:
    """Say how many votes were cast, how many lack an answer or verdict, and how many calls
    failed.
    """
    if not info.votes:
        return count_votes(0)
    answered = (
        Message("{count} without an answer", count=info.failed_votes)
        if info.failed_votes
        else Message("all answered")
    )
    parts = [count_votes(info.votes), answered]
    opinions = number_of(object_in(info.facts.get(OPINIONS)).get("votes"))
    if opinions and "forked_from" not in info.facts:  # a fork counts the votes of judgments only
        parts.insert(1, Message("{count} of them for second opinions", count=int(opinions)))
    if info.undecided_votes:
        parts.append(Message("{count} without a verdict", count=info.undecided_votes))
    sentence = join(", ", parts)
    if not info.failed_calls:
        return sentence
    # if every vote has a verdict, each failed call was repeated; a refusal may be a failed call
    some_failed = info.failed_votes or info.undecided_votes
    count = count_failed_calls if some_failed else count_retries
    return join("; ", (sentence, count(info.failed_calls)))
