"""Report on followed traffic: rolling rates with intervals, alarms, and rows to label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adjudge.core.ledger.file import holds_run
from adjudge.features.traffic.follower import alarms_kept, runs_of_day
from adjudge.features.traffic.rates import Alarm, TrafficRate, rolling_rates
from adjudge.features.traffic.store import FILE, StratumCount, reading_store
from adjudge.messages import Message, render
from adjudge.runs.numbers import percent_range
from adjudge.runs.view.document import Document, DocumentPart
from adjudge.runs.view.plots import Range
from adjudge.runs.view.timeline import Moment, timeline, titled

_DAYS = 30
_WINDOW = 7


def is_followed(folder: Path) -> bool:
    """Return True if traffic is followed into this folder."""
    return (folder / FILE).is_file()


def traffic_document(folder: Path, language: str = "en") -> Document:
    """Return a report on the last days; each rate covers the window of days before it."""
    with reading_store(folder) as intake:
        counts, alarms = intake.counts(), list(alarms_kept(intake))
        days = intake.days()[-_DAYS - _WINDOW + 1 :]
    runs = {day: run for day in days if holds_run(run := runs_of_day(folder, day)[-1])}
    events = {day: sum(count.seen for count in counts if count.day == day) for day in days}
    rates = rolling_rates(runs, events, _WINDOW)
    return Document(
        title=Message("Traffic: {name}", name=folder.name),
        lines=[alarm.sentence() for alarm in alarms],
        parts=[
            _part(name, rates_by_day[-_DAYS:], alarms, language)
            for name, rates_by_day in rates.items()
        ]
        + [_days(counts, days[-_DAYS:])],
        notes=[
            Message(
                "Rates are estimates for all events of the last {window} days, not for the "
                "sample; bars are 95% intervals.",
                window=_WINDOW,
            ),
            Message(
                "Label rows drawn at random (queue random) to correct a rate, and suspicious "
                "ones (queue suspicious) to learn from. They are kept separate, and only the "
                "random ones count."
            ),
        ],
    )


def _part(
    name: tuple[str, str],
    rates: Sequence[tuple[str, TrafficRate]],
    alarms: Sequence[Alarm],
    language: str,
) -> DocumentPart:
    bar = next((alarm.bar for alarm in alarms if (alarm.judge, alarm.criterion) == name), None)
    title = Message("{judge}, {criterion}", judge=name[0], criterion=name[1])
    moments = [
        Moment(day[5:], _range(rate), str(render(rate.sentence(), language))) for day, rate in rates
    ]
    over = Message("Share of all traffic that passes, by day; dashed: the bar of the alarm")
    label = render(over if bar is not None else Message("Mean score, by day"), language)
    drawn = timeline(moments, label, bar=bar, language=language)
    is_share = all((moment.range.value or 0) <= 1 for moment in moments)
    return DocumentPart(
        title=title,
        lines=[rates[-1][1].sentence()],
        plots=[titled(drawn, label)] if is_share else [],
        headings=[
            Message("day"),
            Message("rate"),
            Message("95% interval"),
            Message("rows"),
            Message("events"),
        ],
        rows=[_row(day, rate) for day, rate in rates],
    )


def _range(rate: TrafficRate) -> Range:
    limits = rate.interval
    return Range(rate.mean, limits.lower if limits else None, limits.upper if limits else None)


def _row(day: str, rate: TrafficRate) -> list[str]:
    limits = rate.interval
    return [
        day,
        rate.format_mean(),
        percent_range(limits) if limits else "–",
        str(rate.rows),
        Message("{count:,}", count=rate.events if rate.covered is None else rate.covered),
    ]


def _days(counts: Sequence[StratumCount], days: Sequence[str]) -> DocumentPart:
    """Return a table of the events per stratum, and how many were chosen."""
    return DocumentPart(
        title=Message("Received events"),
        headings=[Message("day"), Message("stratum"), Message("events"), Message("chosen")],
        rows=[
            [
                count.day,
                count.stratum or "–",
                Message("{count:,}", count=count.seen),
                Message("{count:,}", count=count.chosen),
            ]
            for count in counts
            if count.day in days
        ],
    )
