"""Rows in a terminal: a few rows in a table, the worst of many, or a single text with all
details.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from adjudge.core.domain.record import JudgmentRecord, VoteRecord
from adjudge.core.domain.verdict import TIE
from adjudge.messages import Message
from adjudge.runs.numbers import figure, percent
from adjudge.runs.terms import option_title
from adjudge.runs.view.reasons import falling_short, how_sure, reason_of
from adjudge.runs.view.terminal import Screen

if TYPE_CHECKING:
    from rich.table import Table

    from adjudge.runs.results.report import Report

FEW = 20
"""Rows that are shown one by one."""
FULL = 3
"""Rows whose reasons are shown in full."""
_WORST = 3
_LONGEST = 240
"""Characters of a reason that are shown."""
_SHORT = 40
"""Characters of a reason that fit beside a row."""
_MOST_COLUMNS = 6
_GAP = 3
_SIGNS = {"PASS": ("✓ ", "bold green"), "FAIL": ("✗ ", "bold red")}


def few_rows(report: Report) -> bool:
    """Return True if there are few enough rows to show each."""
    most = max(_rows_of(report).values(), default=0)
    left_out = sum(section.summary.skipped for section in report.sections)
    return most <= FEW and len(report.entries) + left_out == report.total


def rows_table(report: Report, screen: Screen) -> Table | None:
    """Return a table with one line per row; None if there are too many judgments.

    With several criteria it has their verdicts, with one also the reason. Up to three judgments are
    shown in full.
    """
    places = {
        (record.judge, record.criteria): place for place, record in enumerate(report.criteria)
    }
    entries = sorted(
        report.entries, key=lambda record: (places[record.judge, record.criterion], record.index)
    )
    aligned = len(set(_rows_of(report).values())) == 1
    if aligned and 1 < len(report.criteria) <= _MOST_COLUMNS and len(entries) > FULL:
        return _matrix(report, entries, screen)
    if len(entries) > FEW:
        return None
    return _lines(report, entries, screen, full=len(entries) <= FULL)


def _matrix(report: Report, entries: Iterable[JudgmentRecord], screen: Screen) -> Table:
    table = screen.table((Message("row"),), gap=3)
    for title in _titles(report):
        table.add_column(Text(screen.render(title)), overflow="ellipsis")
    cells: dict[tuple[int, str], dict[tuple[str, str], Text]] = {}
    for record in entries:
        row = cells.setdefault((_row_index(record, report), row_name(record, report)), {})
        row[record.judge, record.criterion] = verdict_text(record, report, screen)
    for (_, name), row in sorted(cells.items(), key=lambda verdicts: verdicts[0][0]):
        verdicts = (
            row.get((record.judge, record.criteria), Text("–")) for record in report.criteria
        )
        screen.add_row(table, name, *verdicts)
    return table


def _titles(report: Report) -> list[str]:
    """Return the criteria's titles, including the judge if titles would repeat."""
    short = [criterion.criteria or criterion.judge for criterion in report.criteria]
    return (
        short
        if len(set(short)) == len(short)
        else [criterion.name for criterion in report.criteria]
    )


def _rows_of(report: Report) -> Counter[tuple[str, str]]:
    """Return how many rows each judge and criterion has, including skipped ones."""
    counts: Counter[tuple[str, str]] = Counter()
    for section in report.sections:
        counts[section.judge, section.criteria] += (
            section.summary.attempted + section.summary.skipped
        )
    return counts


def _lines(
    report: Report, entries: Sequence[JudgmentRecord], screen: Screen, *, full: bool
) -> Table:
    several = len(report.criteria) > 1
    titles = {
        (criterion.judge, criterion.criteria): title
        for criterion, title in zip(report.criteria, _titles(report), strict=True)
    }
    reasons = [_reason(item, report, screen) for item in entries]
    table = screen.table((Message("row"),), gap=_GAP)
    if several:
        table.add_column(screen.render(Message("criterion")))
    table.add_column(screen.render(Message("verdict")))
    if any(reasons):
        table.add_column(screen.render(Message("why")), overflow="ellipsis", no_wrap=not full)
    fixed_cells = [
        (
            screen.line(row_name(item, report)),
            *(
                (screen.line(titles.get((item.judge, item.criterion), item.criterion)),)
                if several
                else ()
            ),
            verdict_text(item, report, screen),
        )
        for item in entries
    ]
    taken = sum(
        max(len(str(column.header)), *(item.cell_len for item in cells)) + _GAP
        for column, cells in zip(table.columns, zip(*fixed_cells, strict=True), strict=False)
    )
    for cells, reason in zip(fixed_cells, reasons, strict=True):
        if not full:  # what cannot be wrapped would take the place of the other columns
            reason.truncate(
                max(screen.console.width - taken - _GAP, _SHORT // 2), overflow="ellipsis"
            )
        screen.add_row(table, *cells, *((reason,) if any(reasons) else ()))
    return table


def worst_rows(report: Report, screen: Screen, *, all_shown: bool) -> Table | None:
    """Return the three worst rows with reasons.

    None if no row could be better, or if the table above (``all_shown``) already shows everything.
    """
    by_row: dict[str, JudgmentRecord] = {}
    for record in falling_short(report):
        by_row.setdefault(row_name(record, report), record)
        if len(by_row) == _WORST:
            break
    worst = list(by_row.values())
    is_shown_above = all_shown and (len(report.criteria) == 1 or report.total <= FULL)
    cut = any(len(_reason(record, report, screen)) > _SHORT for record in worst)
    return (
        _lines(report, worst, screen, full=True) if worst and (cut or not is_shown_above) else None
    )


def row_name(record: JudgmentRecord, report: Report) -> str:
    """Return the row's id, or else its number."""
    return record.id or str(_row_index(record, report) + 1)


def _row_index(record: JudgmentRecord, report: Report) -> int:
    counts = [rows for (judge, _), rows in _rows_of(report).items() if judge == record.judge]
    return record.index // (len(counts) if len(set(counts)) == 1 else 1)


def verdict_text(record: JudgmentRecord, report: Report, screen: Screen) -> Text:
    """Return the verdict, with a sign and a colour for pass or fail."""
    if not record.scored:
        return _no_score(screen)
    if record.detail.is_comparison:
        sure = None if record.tie or record.verdict == TIE else record.detail.winner_share
        return _join_spaced(
            screen.line(option_title(record.verdict or "")),
            *(() if sure is None else (screen.line(percent(sure)),)),
        )
    for part in report.parts_of(record):
        if (words := part.verdict(record)) is not None:
            return _join_spaced(*map(screen.line, words))
    is_plain = record.detail.kind in ("aspect", "check") and record.score in (0.0, 1.0)
    score = () if record.score is None or is_plain else (screen.line(figure(record.score)),)
    return _join_spaced(_add_sign(record.verdict, screen), *score)


def _no_score(screen: Screen) -> Text:
    return screen.line(Message("– no score"), "bold yellow")


def _join_spaced(*parts: Text) -> Text:
    return Text(" ").join(parts)


def _add_sign(option: str | None, screen: Screen) -> Text:
    sign, style = _SIGNS.get(option or "", ("", ""))
    return screen.line(f"{sign}{option or ''}", style)


def _reason(record: JudgmentRecord, report: Report, screen: Screen) -> Text:
    line = " ".join(screen.render(reason_of(record, report)).split())
    return Text(line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…")


def show_single(record: JudgmentRecord, report: Report, screen: Screen) -> None:
    """Print a single judgment: the verdict, its certainty, the reason, and each vote."""
    definition = report.setup.definition_of(record.judge) or record.criterion
    screen.say(Message("criterion: {text}", text=definition), "dim")
    # one valid vote of one says nothing about agreement
    is_counted = record.votes_requested > 1 or record.votes_valid < record.votes_requested
    measures = [screen.line(record.vote_count)] if is_counted else []
    screen.show(Text("  ").join((verdict_text(record, report, screen), *measures)))
    if reason := _reason(record, report, screen):
        screen.show(reason)
    if votes := list(_by_model(record)):
        headings = (Message("model"), Message("votes"), Message("verdict"), Message("why"))
        rows = ((model, *_model_cells(votes_of_model, screen)) for model, votes_of_model in votes)
        screen.show("", screen.table(headings, rows, gap=3))
    for model, why in record.excluded_models.items():
        screen.say(Message("excluded {model}: {reason}", model=model, reason=why), "yellow")


def _by_model(record: JudgmentRecord) -> Iterator[tuple[str, list[VoteRecord]]]:
    """Yield each model with its votes; nothing unless there are several votes on one question."""
    votes = record.votes or ()
    if len(votes) > 1 and record.detail.kind in ("aspect", "direct"):
        for model in dict.fromkeys(vote.model for vote in votes):
            yield model, [vote for vote in votes if vote.model == model]


def _model_cells(votes: Sequence[VoteRecord], screen: Screen) -> tuple[Text, Text, Text]:
    options = [vote.option for vote in votes if vote.option is not None]
    most = max(dict.fromkeys(options), key=options.count, default=None)
    verdict = _no_score(screen) if most is None else _add_sign(option_title(most), screen)
    typical_vote = next((vote for vote in votes if vote.option == most), votes[0])
    why = typical_vote.explanation or how_sure(typical_vote) or typical_vote.reason or ""
    return screen.line(f"{options.count(most or '')}/{len(votes)}"), verdict, screen.line(why)
