"""A leaderboard as a Markdown page, and as a single HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from adjudge.messages import Message, plural
from adjudge.runs.counts import count_rows
from adjudge.runs.numbers import limits, percent
from adjudge.runs.results.leaderboard import Leaderboard
from adjudge.runs.view.plots import Range, interval
from adjudge.runs.view.template import environment
from adjudge.stats.ranking import Standing


def _rank(place: Standing) -> str:
    """Return the rank, and the ranks that it may be."""
    if place.best_rank == place.worst_rank:
        return str(place.rank)
    return f"{place.rank} ({place.best_rank}–{place.worst_rank})"


def leaderboard_name(board: Leaderboard, boards: Sequence[Leaderboard]) -> str:
    """Return the criterion, with its judge if several judges of the run compare."""
    return (
        board.name if len({other.judge for other in boards}) > 1 else board.criteria or board.judge
    )


def leaderboard_title(board: Leaderboard, boards: Sequence[Leaderboard]) -> Message:
    """Return the question, and the amount of data that the ranking is based on."""
    return Message(
        "{name}: {contests} on {rows}",
        name=leaderboard_name(board, boards),
        contests=plural("{count} contest", "{count} contests", board.contests),
        rows=count_rows(board.rows - board.rows_left_out),
    )


def leaderboard_table(board: Leaderboard) -> tuple[list[Message], list[list[str]]]:
    """Return headings, and a line per system, the best first."""
    headings = [
        Message("rank"),
        Message("system"),
        Message("rating"),
        Message("interval"),
        Message("win rate"),
        Message("wins"),
        Message("ties"),
        Message("losses"),
    ]
    rows = [_cells(place_of_system) for place_of_system in board.ranking.places]
    if controlled := board.controlled:
        headings.append(Message("controlled"))
        for place, cells in zip(board.ranking.places, rows, strict=True):
            cells.append(f"{controlled.ratings[place.name]:.0f}")
    return headings, rows


def _cells(place: Standing) -> list[str]:
    return [
        _rank(place),
        place.name,
        f"{place.rating:.0f}",
        limits(place, 0),
        percent(place.win_rate, 2),
        str(place.wins),
        str(place.ties),
        str(place.losses),
    ]


def leaderboard_markdown(title: str, boards: Sequence[Leaderboard], language: str = "en") -> str:
    """Render leaderboards as Markdown, for code hosts and mail."""
    return (
        _render(
            "adjudge.features.trust:leaderboard.md.jinja", title, boards, language, html=False
        ).strip()
        + "\n"
    )


def leaderboard_html(title: str, boards: Sequence[Leaderboard], language: str = "en") -> str:
    """Render leaderboards as one HTML file that loads and sends nothing."""
    return _render(
        "adjudge.features.trust:leaderboard.html.jinja", title, boards, language, html=True
    )


def _render(
    template: str, title: str, boards: Sequence[Leaderboard], language: str, *, html: bool
) -> str:
    page_environment = environment(language, html=html)
    return page_environment.get_template(template).render(
        title=title,
        boards=boards,
        name_of=leaderboard_name,
        table=leaderboard_table,
        about=_about,
        rank_plot=_rank_plot,
        rating_plot=_rating_plot,
    )


def _about(board: Leaderboard) -> Message:
    """Describe the data and the settings of the ranking."""
    return Message(
        "{contests} contests on {rows} rows, judged by {judge}. Intervals at {level:.0f}%, "
        "{units} drawn {draws} times with seed {seed}.",
        units=Message("groups by {column!r}", column=board.cluster)
        if board.cluster
        else Message("prompts"),
        contests=board.contests,
        rows=board.rows - board.rows_left_out,
        judge=board.judge,
        level=100 * board.ranking.level,
        draws=board.ranking.draws.count,
        seed=board.ranking.draws.seed,
    )


def _rank_plot(board: Leaderboard, place: Standing) -> Markup:
    """Draw the ranks that a system may hold, the first on the left."""
    ranks = Range(place.rank, place.best_rank, place.worst_rank)
    return interval(ranks, _rank(place), 1, len(board.ranking.places))


def _rating_plot(board: Leaderboard, place: Standing, label: str) -> Markup:
    """Draw a system's rating on the board's own scale."""
    ends = [
        value
        for standing in board.ranking.places
        for value in (standing.lower, standing.upper, standing.rating)
        if value is not None
    ]
    return interval(Range(place.rating, place.lower, place.upper), label, min(ends), max(ends))
