"""Rows in a terminal: a few in a table, of many the worst; one text with everything about it."""

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
    """Whether the rows can be shown one by one."""
    most = max(_rows_of(report).values(), default=0)
    left_out = sum(one.summary.skipped for one in report.sections)
    return most <= FEW and len(report.entries) + left_out == report.total


def rows_table(report: Report, screen: Screen) -> Table | None:
    """Of a few rows a line each: by several criteria what each says, by one its reason as well; of
    two or three judgments everything.
    """
    places = {(one.judge, one.criteria): place for place, one in enumerate(report.criteria)}
    entries = sorted(report.entries, key=lambda one: (places[one.judge, one.criterion], one.index))
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
    for one in entries:
        row = cells.setdefault((_row_index(one, report), row_name(one, report)), {})
        row[one.judge, one.criterion] = verdict_text(one, report, screen)
    for (_, name), row in sorted(cells.items(), key=lambda each: each[0][0]):
        each = (row.get((one.judge, one.criteria), Text("–")) for one in report.criteria)
        screen.add_row(table, name, *each)
    return table


def _titles(report: Report) -> list[str]:
    """What the criteria are called: with their judges where one has several."""
    short = [one.criteria or one.judge for one in report.criteria]
    return short if len(set(short)) == len(short) else [one.name for one in report.criteria]


def _rows_of(report: Report) -> Counter[tuple[str, str]]:
    """(Judge, criterion) → how many rows it was asked about; one whose checks did not pass is one
    of them.
    """
    found: Counter[tuple[str, str]] = Counter()
    for one in report.sections:
        found[one.judge, one.criteria] += one.summary.attempted + one.summary.skipped
    return found


def _lines(
    report: Report, entries: Sequence[JudgmentRecord], screen: Screen, *, full: bool
) -> Table:
    several = len(report.criteria) > 1
    reasons = [_reason(one, report, screen) for one in entries]
    table = screen.table((Message("row"),), gap=_GAP)
    if several:
        table.add_column(screen.render(Message("criterion")))
    table.add_column(screen.render(Message("verdict")))
    if any(reasons):
        table.add_column(screen.render(Message("why")), overflow="ellipsis", no_wrap=not full)
    before = [
        (
            screen.line(row_name(one, report)),
            *((screen.line(one.criterion),) if several else ()),
            verdict_text(one, report, screen),
        )
        for one in entries
    ]
    taken = sum(
        max(len(str(column.header)), *(one.cell_len for one in cells)) + _GAP
        for column, cells in zip(table.columns, zip(*before, strict=True), strict=False)
    )
    for cells, reason in zip(before, reasons, strict=True):
        if not full:  # what cannot be wrapped would take the place of the other columns
            reason.truncate(
                max(screen.console.width - taken - _GAP, _SHORT // 2), overflow="ellipsis"
            )
        screen.add_row(table, *cells, *((reason,) if any(reasons) else ()))
    return table


def worst_rows(report: Report, screen: Screen, *, all_shown: bool) -> Table | None:
    """The three worst rows with their reasons; None where no row could be better, or where
    ``all_shown`` says that all stand above and there is nothing to add.
    """
    by_row: dict[str, JudgmentRecord] = {}
    for one in falling_short(report):
        by_row.setdefault(row_name(one, report), one)
        if len(by_row) == _WORST:
            break
    worst = list(by_row.values())
    told = all_shown and (len(report.criteria) == 1 or report.total <= FULL)
    cut = any(len(_reason(one, report, screen)) > _SHORT for one in worst)
    return _lines(report, worst, screen, full=True) if worst and (cut or not told) else None


def row_name(one: JudgmentRecord, report: Report) -> str:
    """Its id, else its number: a judge has a judgment of the row for each of its criteria."""
    return one.id or str(_row_index(one, report) + 1)


def _row_index(one: JudgmentRecord, report: Report) -> int:
    own = [rows for (judge, _), rows in _rows_of(report).items() if judge == one.judge]
    return one.index // (len(own) if len(set(own)) == 1 else 1)


def verdict_text(one: JudgmentRecord, report: Report, screen: Screen) -> Text:
    """What was decided, by sign and colour where it is pass or fail."""
    if not one.scored:
        return _no_score(screen)
    if one.detail.is_comparison:
        sure = None if one.tie or one.verdict == TIE else one.detail.winner_share
        return _spaced(
            screen.line(option_title(one.verdict or "")),
            *(() if sure is None else (screen.line(percent(sure)),)),
        )
    for part in report.parts_of(one):
        if (words := part.verdict(one)) is not None:
            return _spaced(*map(screen.line, words))
    whole = one.detail.kind in ("aspect", "check") and one.score in (0.0, 1.0)
    score = () if one.score is None or whole else (screen.line(figure(one.score)),)
    return _spaced(_signed(one.verdict, screen), *score)


def _no_score(screen: Screen) -> Text:
    return screen.line(Message("– no score"), "bold yellow")


def _spaced(*parts: Text) -> Text:
    return Text(" ").join(parts)


def _signed(option: str | None, screen: Screen) -> Text:
    sign, style = _SIGNS.get(option or "", ("", ""))
    return screen.line(f"{sign}{option or ''}", style)


def _reason(one: JudgmentRecord, report: Report, screen: Screen) -> Text:
    line = " ".join(screen.render(reason_of(one, report)).split())
    return Text(line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…")


def show_single(one: JudgmentRecord, report: Report, screen: Screen) -> None:
    """A single judgment: the verdict, how sure it is, why, and what each vote said."""
    asked = report.setup.definition_of(one.judge) or one.criterion
    screen.say(Message("criterion: {text}", text=asked), "dim")
    screen.show(
        Text("  ").join((verdict_text(one, report, screen), *map(screen.line, _measures(one))))
    )
    if reason := _reason(one, report, screen):
        screen.show(reason)
    if votes := list(_by_model(one)):
        headings = (Message("model"), Message("votes"), Message("verdict"), Message("why"))
        rows = ((model, *_model_cells(own, screen)) for model, own in votes)
        screen.show("", screen.table(headings, rows, gap=3))
    for model, why in one.excluded_models.items():
        screen.say(Message("excluded {model}: {reason}", model=model, reason=why), "yellow")


def _measures(one: JudgmentRecord) -> Iterator[Message]:
    if one.votes_requested > 1 or one.votes_valid < one.votes_requested:
        yield one.vote_count


def _by_model(one: JudgmentRecord) -> Iterator[tuple[str, list[VoteRecord]]]:
    """Each model with its votes, where several of them answered one question."""
    votes = one.votes or ()
    if len(votes) > 1 and one.detail.kind in ("aspect", "direct"):
        for model in dict.fromkeys(vote.model for vote in votes):
            yield model, [vote for vote in votes if vote.model == model]


def _model_cells(own: Sequence[VoteRecord], screen: Screen) -> tuple[Text, Text, Text]:
    said = [vote.option for vote in own if vote.option is not None]
    most = max(dict.fromkeys(said), key=said.count, default=None)
    shown = _no_score(screen) if most is None else _signed(option_title(most), screen)
    first = next((vote for vote in own if vote.option == most), own[0])
    why = first.explanation or how_sure(first) or first.reason or ""
    return screen.line(f"{said.count(most or '')}/{len(own)}"), shown, screen.line(why)
