"""``/run/ID/row/NUMBER``: one judgment with its votes, texts and prompts."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heapreplace
from itertools import islice, zip_longest

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.record import Fields, JudgmentRecord, VoteRecord
from adjudge.core.domain.vote import DECIDED
from adjudge.core.ledger.columns import COLUMN, KnownColumns
from adjudge.core.ledger.conditions import equals
from adjudge.core.ledger.file import FILE, read_judge
from adjudge.core.ledger.record_browser import judges_in, neighbours, same_text
from adjudge.core.ledger.records import records
from adjudge.core.ledger.row_groups import RowJudgment, are_in_turn, row_group
from adjudge.core.ledger.row_texts import cell_text
from adjudge.errors import RunError
from adjudge.runs.folder import reading
from adjudge.runs.results.prompts import ShownPrompt, shown_prompts
from adjudge.web.library import Library, RunPlace
from adjudge.web.page import Page, RowContext
from adjudge.web.page_registry import (
    dimensions_of,
    hidden_fields,
    merge_data,
    owner_of,
    row_parts,
)
from adjudge.web.page_registry import (
    row_data as data_of_parts,
)
from adjudge.web.people import people_said
from adjudge.web.rendering import render_text
from adjudge.web.site import Site, place_of, site_of

_LOOKED_THROUGH = 20_000_000
"""Bytes of a ledger that is looked through for rows of equal content: no index holds them."""
LONGEST = 20_000
"""Characters of a text that are shown at once."""
_MOST_QUOTES = 200
"""Quotations that are looked for in the texts of a row: the first ones of its explanations."""
_MOST_BARS = 12
"""Options whose probabilities are drawn: of many, the likeliest."""
_MOST_PARTS = 4_000
"""Parts of one text, marked and unmarked; after so many nothing more is marked."""
_LONGEST_CHIP = 60
"""Characters of a cell that is a link to the rows with the same one."""
_LONGEST_CELL = 2_000
_MOST_CELLS = 50
_FIRST, _LAST = ("user_input", "history", "contexts"), "response"
_QUOTES = re.compile(r'"([^"\n]{4,300})"|“([^”\n]{4,300})”|«([^»\n]{4,300})»|`([^`\n]{4,300})`')
_OF_A_VOTE = ("model", "outcome", "option", "explanation", "reason", "persona")
_OF_A_MEASURE = ("row", "criterion", "status", "score", "verdict")
_SHOWN_APART = (
    "fields",
    "votes",
    "judge",
    "row",
    "id",
    "input",
    "explanation",
    "reason",
    "status",
    "score",
    "criteria",
)


def show(request: Request) -> Response:
    """Show the row as a page, or as the part next to a list."""
    site, query, place = site_of(request), request.query_params, place_of(request)
    with reading(place.folder) as connection:
        judges = judges_in(connection)
    judge = query.get("judge") or (judges[0] if judges else "")
    row, in_full = request.path_params["row"], query.get("whole") == "1"
    record = row_record(place, judge, row)
    if "ahead" not in query:  # whoever has a row fetched ahead has not seen it yet
        site.sessions.mark_seen(record.identity)
    if "seen" in query:
        return Response(status_code=204)
    data = {
        "run": place.link,
        "judge": judge,
        "judges": judges,
        "chosen": row_data(place, record, in_full=in_full),
        "alone": query.get("part") != "1",
        "words_found": query.get("q", "").strip(),
        **page_data(site, request, place, record),
    }
    template = "row_part.html.jinja" if query.get("part") else "row.html.jinja"
    return site.answer(request, template, data, record=record)


def row_record(place: RunPlace, judge: str, row: int) -> JudgmentRecord:
    """Return the judgment with its votes. Raises a RunError if there is none."""
    with reading(place.folder) as connection:
        record = next(
            records(connection, judge=judge, index=row - 1, votes=True, trajectory=False), None
        )
    if record is None:
        raise RunError(
            "the run {name} has no row {row} of judge {judge!r}",
            name=place.name,
            row=row,
            judge=judge,
        )
    return record


def row_data(
    place: RunPlace,
    record: JudgmentRecord,
    *,
    in_full: bool = False,
    prompts: bool = True,
    copied: bool = False,
) -> JsonDict:
    """Return a judgment as pages show it.

    Callers must report it to the label sessions (``mark_seen``), since labelling the row is then no
    longer blind. ``prompts``: include what was sent. ``copied``: for other readers, so without
    annotators' names, local code, and rows with the same text.
    """
    judge, row, is_owned = record.judge, record.row, owner_of(record) is not None
    record_data = replace(record, votes=None, fields={} if is_owned else record.fields).to_dict()
    with reading(place.folder) as connection:
        configuration = read_judge(connection, judge)
        several = several_criteria(configuration)
        group = _group(connection, record, several)
        per_row = len(several) if are_in_turn(connection, judge, several) else 1
        previous_row, next_row = neighbours(connection, group, record.index)
        small = (place.folder / FILE).stat().st_size < _LOOKED_THROUGH
        made_again = prompts and not is_owned
        ballots = [part.ballots for part in row_parts() if part.ballots]
        sent = shown_prompts(connection, judge, record.index, ballots) if made_again else []
        alike = small and not is_owned and not copied
        same = same_text(connection, judge, record.index) if alike else []
        added = data_of_parts(
            RowContext(connection, record, record_data, configuration, group, is_small=small)
        )
    apart = {*_SHOWN_APART, *(name for part in row_parts() for name in part.apart)}
    people = people_said(place, record)
    if people and copied:
        people = people.without_names()
    return {
        **added,
        "row": row,
        "number": record.index // per_row + 1,
        "per_row": per_row,
        "before": previous_row,
        "behind": next_row,
        "people": people and people.to_dict(),
        "criteria": record.criterion,
        **some_of(record, "id", "judge", "status", "score", "verdict"),
        "explanation": begins(record.explanation),
        "reason": begins(record.reason),
        "fields": _fields(record, in_full=in_full),
        "columns": _columns(record, configuration, several),
        "more": {
            name: value
            for name, value in record_data.items()
            if name not in apart and value not in (None, [], {}, False)
        },
        "votes": _votes(record, sent, configuration, in_full=in_full),
        "python": None if copied else as_python(place, judge, row),
        "same": same,
        "row_measures": [some_of(judgment, *_OF_A_MEASURE) for judgment in group],
    }


def _votes(
    record: JudgmentRecord,
    sent: Sequence[ShownPrompt | None],
    configuration: JudgeConfiguration,
    *,
    in_full: bool,
) -> list[JsonDict]:
    titles = {dimension["name"]: dimension["title"] for dimension in dimensions_of(configuration)}
    return [
        {
            **_vote(vote, prompt, record.systems, in_full=in_full),
            "about": _about(prompt, record, titles) if prompt else None,
        }
        for vote, prompt in zip_longest(record.votes or (), sent)
    ]


def _about(
    prompt: ShownPrompt, record: JudgmentRecord, titles: Mapping[JsonValue, JsonValue]
) -> JsonValue:
    """Return what a vote is about, if it is only a part of the judgment."""
    return None if prompt.about == record.criterion else titles.get(prompt.about, prompt.about)


def _fields(record: JudgmentRecord, *, in_full: bool) -> list[JsonDict]:
    """Return the judged texts and their context, marking what explanations quote."""
    votes, hidden = record.votes or (), hidden_fields(record)
    explanations = [
        begins(record.explanation),
        *(begins(text_part.explanation) for text_part in votes),
    ]
    # an explanation of a hostile row could quote without end
    quotes = set(islice(quoted_in(explanations), _MOST_QUOTES))
    return [
        text_part
        for name in _in_reading_order(record.fields)
        if name not in hidden
        for text_part in _texts(name, record.fields[name], quotes, record.systems, in_full=in_full)
    ]


def _columns(
    record: JudgmentRecord, configuration: JudgeConfiguration, several: Sequence[str]
) -> list[JsonDict]:
    """Return the data columns that are not among the texts.

    A short value comes with an expression for the rows that share it.
    """
    known = KnownColumns(
        fields=tuple(record.fields),
        criteria=tuple(several),
        dimensions=tuple(str(dimension["name"]) for dimension in dimensions_of(configuration)),
        columns=tuple(record.input),
    )
    texts = {value for value in record.fields.values() if isinstance(value, str)}
    cells = ((name, cell_text(value)) for name, value in record.input.items())
    found: list[JsonDict] = [
        {
            "name": name,
            "value": text[:_LONGEST_CELL],
            "where": equals(known.written(COLUMN, name), text)
            if len(text) <= _LONGEST_CHIP and '"' not in name
            else None,
        }
        for name, text in cells
        if text and text not in texts and text != record.id
    ]
    return found[:_MOST_CELLS]


def several_criteria(configuration: JudgeConfiguration) -> tuple[str, ...]:
    """Return the criteria of a judge that judges each row by several; empty for other judges."""
    names = criteria_names(configuration)
    # dimensions are scores within one judgment, not judgments of their own
    return tuple(names) if len(names) > 1 and not configuration.dimensions else ()


def judgments_per_row(ledger: sqlite3.Connection, judge: str) -> int:
    """Return how many judgments each row of a judge has, if its criteria take turns; else 1."""
    several = several_criteria(read_judge(ledger, judge))
    return len(several) if are_in_turn(ledger, judge, several) else 1


def row_number(library: Library, place: RunPlace, judge: str, row: int) -> int:
    """Return the number of the row that a judgment is about, as lists count rows."""
    what = f"judgments per row {judge}"
    per_row = library.read(place, what, lambda ledger: judgments_per_row(ledger, judge))
    return (row - 1) // per_row + 1


def criteria_names(configuration: JudgeConfiguration) -> list[str]:
    return [str(criterion.get("name")) for criterion in configuration.criteria]


def _group(
    connection: sqlite3.Connection, record: JudgmentRecord, order: Sequence[str]
) -> list[RowJudgment]:
    judgments = row_group(connection, record.judge, record.index, order) if order else []
    own_values = (
        record.judge,
        record.index,
        record.id,
        record.criterion,
        record.status,
        record.score,
    )
    return judgments or [RowJudgment(*own_values, record.verdict)]


def page_data(site: Site, request: Request, place: RunPlace, record: JudgmentRecord) -> JsonDict:
    """Return the parts' additions to a page that shows the row."""
    return merge_data(
        part.page_data(site, request, place, record) for part in row_parts() if part.page_data
    )


def quoted_in(texts: Sequence[object]) -> Iterator[str]:
    """Yield the passages that explanations quote."""
    for text in texts:
        for match in _QUOTES.finditer(text if isinstance(text, str) else ""):
            yield next(part for part in match.groups() if part)


def _in_reading_order(fields: Fields) -> list[str]:
    """Return the field names with the question first and the response last."""
    return [
        *(name for name in _FIRST if name in fields),
        *(name for name in fields if name not in (*_FIRST, _LAST)),
        *(name for name in fields if name == _LAST),
    ]


def _texts(
    name: str,
    value: str | Sequence[str],
    quotes: set[str],
    systems: Sequence[str],
    *,
    in_full: bool,
) -> Iterator[JsonDict]:
    """Yield a field's texts. Compared responses are named by their systems."""
    several = not isinstance(value, str)
    names = systems if several and len(value) == len(systems) else ()
    for place, text in enumerate(value if several else [value], 1):
        yield {
            "name": names[place - 1] if names else f"{name} {place}" if several else name,
            "field": name,
            **text_data(str(text), quotes, in_full=in_full),
        }


def text_data(text: str, quotes: Iterable[str], *, in_full: bool) -> JsonDict:
    """Return a text with quoted passages marked, or rendered if it has none and is not
    shortened.
    """
    visible_text = text if in_full else text[:LONGEST]
    parts, cut = mark_quotes(visible_text, quotes), len(text) - len(visible_text)
    plain = not cut and not any(is_quoted for _, is_quoted in parts)
    return {
        "parts": parts,
        "rendered": render_text(visible_text) if plain else None,
        "left_out": cut,
    }


def mark_quotes(text: str, quotes: Iterable[str]) -> list[tuple[str, bool]]:
    """Split ``text`` into parts and mark the quoted ones. At the same position, the longest quote
    wins.
    """
    # a heap of the next place of each quote: a text may hold thousands of them
    nearest = [(place, -len(quote), quote) for quote in quotes if (place := text.find(quote)) != -1]
    heapify(nearest)
    parts: list[tuple[str, bool]] = []
    end = 0
    while nearest and len(parts) < _MOST_PARTS:
        place, _, quote = nearest[0]
        if place >= end:
            parts += [(text[end:place], False), (quote, True)]
            end = place + len(quote)
        if (place := text.find(quote, end)) != -1:
            heapreplace(nearest, (place, -len(quote), quote))
        else:
            heappop(nearest)
    return [part for part in [*parts, (text[end:], False)] if part[0]]


def _vote(
    vote: VoteRecord, prompt: ShownPrompt | None, systems: Sequence[str], *, in_full: bool
) -> JsonDict:
    text = vote.text or ""
    return {
        **{name: begins(getattr(vote, name)) for name in _OF_A_VOTE},
        "said": _name_option(vote.option, systems),
        "sample": vote.sample,
        "order": None if vote.order is None else list(vote.order),
        "shown": _shown_order(vote.order, systems),
        "probability": vote.probability,
        "distribution": dict(vote.distribution or {}),
        "bars": _bars(vote, systems),
        "decided": bool(vote.metadata.get(DECIDED)),
        "tokens": [vote.usage.prompt_tokens, vote.usage.completion_tokens],
        "calls": vote.usage.calls,
        "repairs": vote.repairs,
        "latency": vote.latency,
        "text": text if in_full else text[:LONGEST],
        "left_out": 0 if in_full else max(0, len(text) - LONGEST),
        "prompt": _prompt(prompt, in_full=in_full) if prompt else None,
    }


def _bars(vote: VoteRecord, systems: Sequence[str]) -> list[tuple[str, float]]:
    """Return the likeliest options with their probabilities; empty if there are fewer than two."""
    shares = sorted((vote.distribution or {}).items(), key=lambda pair: -pair[1])
    if len(shares) < 2:
        return []
    return [(_name_option(option, systems) or "", share) for option, share in shares[:_MOST_BARS]]


def _name_option(option: str | None, systems: Sequence[str]) -> str | None:
    """Return a vote's option; in comparisons, the better system's name."""
    if option is None or not systems or not option.isdecimal():
        return begins(option)
    return systems[int(option)] if int(option) < len(systems) else option


def _shown_order(order: Sequence[int] | None, systems: Sequence[str]) -> list[str]:
    """Return the names of compared responses in the order shown; empty if it is unknown."""
    if order is None or sorted(order) != list(range(len(systems))):
        return []
    return [systems[place] for place in order]


def begins(value: str | None) -> str | None:
    """Shorten a text that a model wrote. Messages of ours stay translatable."""
    # models rarely write so much; but a run folder may come from anybody
    return value if value is None or len(value) <= LONGEST else value[:LONGEST]


def _prompt(prompt: ShownPrompt, *, in_full: bool) -> JsonDict:
    turns = [(role, text if in_full else text[:LONGEST]) for role, text in prompt.turns]
    left_out = sum(len(text) for _, text in prompt.turns) - sum(len(text) for _, text in turns)
    return {"turns": turns, "checked": prompt.checked, "left_out": left_out}


def as_python(place: RunPlace, judge: str, row: int) -> str:
    """Return Python code that prints this judgment."""
    return (
        "from adjudge.core.ledger.records import records\n"
        "from adjudge.runs.folder import reading\n\n"
        f"with reading({str(place.folder)!r}) as run:\n"
        f"    judgment = next(records(run, judge={judge!r}, index={row - 1}, votes=True))\n"
        "print(judgment.fields, judgment.votes)\n"
    )


PAGE = Page(name="row", routes=(Route("/run/{run}/row/{row:int}", show),))
