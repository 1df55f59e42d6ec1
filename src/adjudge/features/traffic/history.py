"""What following came to so far, as a report: rolling rates with their intervals, alarms, rows to
label.
"""

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
    """Whether the days of traffic are kept in a folder."""
    return (folder / FILE).is_file()


def traffic_document(folder: Path, language: str = "en") -> Document:
    """The rates of the last days, each over the days of a window before it."""
    with reading_store(folder) as intake:
        counts, alarms = intake.counts(), list(alarms_kept(intake))
        days = intake.days()[-_DAYS - _WINDOW + 1 :]
    runs = {day: run for day in days if holds_run(run := runs_of_day(folder, day)[-1])}
    events = {day: sum(one.seen for one in counts if one.day == day) for day in days}
    found = rolling_rates(runs, events, _WINDOW)
    return Document(
        title=Message("Traffic: {name}", name=folder.name),
        lines=[one.sentence() for one in alarms],
        parts=[_part(name, each[-_DAYS:], alarms, language) for name, each in found.items()]
        + [_days(counts, days[-_DAYS:])],
        notes=[
            Message(
                "Rates are those of all events over the last {window} days, not those of the "
                "sample; bars are 95% intervals.",
                window=_WINDOW,
            ),
            Message(
                "Label rows drawn at random (queue random) to correct a rate, and suspicious ones "
                "(queue suspicious) to learn from: they are kept apart, and only the first count."
            ),
        ],
    )


def _part(
    name: tuple[str, str],
    rates: Sequence[tuple[str, TrafficRate]],
    alarms: Sequence[Alarm],
    language: str,
) -> DocumentPart:
    bar = next((one.bar for one in alarms if (one.judge, one.criterion) == name), None)
    title = Message("{judge}, {criterion}", judge=name[0], criterion=name[1])
    moments = [
        Moment(day[5:], _range(rate), str(render(rate.sentence(), language))) for day, rate in rates
    ]
    over = Message("Share of all traffic that passes, by day; dashed: the bar of the alarm")
    shown = render(over if bar is not None else Message("Mean score, by day"), language)
    drawn = timeline(moments, shown, bar=bar, language=language)
    is_share = all((one.range.value or 0) <= 1 for one in moments)
    return DocumentPart(
        title=title,
        lines=[rates[-1][1].sentence()],
        plots=[titled(drawn, shown)] if is_share else [],
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
        rate.shown(),
        percent_range(limits) if limits else "–",
        str(rate.rows),
        Message("{count:,}", count=rate.events if rate.covered is None else rate.covered),
    ]


def _days(counts: Sequence[StratumCount], days: Sequence[str]) -> DocumentPart:
    """What came, and what was taken of it."""
    return DocumentPart(
        title=Message("What came"),
        headings=[Message("day"), Message("stratum"), Message("events"), Message("chosen")],
        rows=[
            [
                one.day,
                one.stratum or "–",
                Message("{count:,}", count=one.seen),
                Message("{count:,}", count=one.chosen),
            ]
            for one in counts
            if one.day in days
        ],
    )
