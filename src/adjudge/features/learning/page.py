"""``/run/ID/learn``: how well a local judge would learn each criterion from the labels so far."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.json_types import JsonDict, objects_in
from adjudge.core.ledger.file import holds_labels
from adjudge.core.prompts.renderer import shown_fields
from adjudge.errors import AdjudgeError
from adjudge.features.local.libraries import import_numpy
from adjudge.messages import Message
from adjudge.trust.labels.store import LabelStore
from adjudge.web.library import Library, RunPlace
from adjudge.web.page import ListPart, Page
from adjudge.web.site import place_of, site_of

if TYPE_CHECKING:
    from adjudge.features.learning.examples import Example
_MOST_MISTAKES, _LONGEST_TEXT = 10, 300
FEWEST = 30
"""Labelled rows from which on a judge can learn; learner.py has the same number."""


def show(request: Request) -> Response:
    """Show the figures of each criterion with enough labels."""
    site, place = site_of(request), place_of(request)
    if site.must_wait(request, place, "learn"):
        return site.answer_first(request, {"title": Message("Teach a local judge")})
    criteria = site.library.get_or_compute(place, "learn", lambda: _criteria(place))
    # the mistakes show rows with people's answers, which the learned judge contradicts
    site.sessions.mark_seen(*_shown_rows(criteria))
    data = {"run": place.link, "criteria": criteria, "fewest": FEWEST}
    return site.answer(request, "learning/learn.html.jinja", data)


def _shown_rows(criteria: Sequence[JsonDict]) -> Iterator[str]:
    for one in criteria:
        for mistake in objects_in(one.get("mistakes")):
            yield str(mistake["identity"])


def labelled_rows_by_criterion(place: RunPlace) -> dict[str, int]:
    """Count the rows that people labelled, by criterion."""
    if not holds_labels(place.folder):
        return {}
    rows = {
        (label.criteria, label.row)
        for label in LabelStore(place.folder).current()
        if label.is_by_person
    }
    return dict(Counter(criterion for criterion, _ in rows))


def _criteria(place: RunPlace) -> list[JsonDict]:
    return [
        _criterion(place, name, count)
        for name, count in sorted(labelled_rows_by_criterion(place).items())
    ]


def _criterion(place: RunPlace, name: str, count: int) -> JsonDict:
    run = shlex.quote(str(place.folder))
    known: JsonDict = {
        "name": name,
        "labelled": count,
        "command": f"adjudge learn {run} --criterion {shlex.quote(name)} -o judge.json",
    }
    if count < FEWEST:
        return {**known, "missing": FEWEST - count}
    try:
        import_numpy()
        return {**known, **_figures(place, name)}
    except AdjudgeError as error:
        return {**known, "problem": str(error)}


def _figures(place: RunPlace, name: str) -> JsonDict:
    """Learn from words alone, which takes about a second, and return the figures."""
    from adjudge.features.learning.examples import examples_of
    from adjudge.features.learning.learner import LearnedJudge, LearnSettings
    from adjudge.features.learning.report import NAMES, lines, verdict_sentence

    learned = LearnedJudge.from_examples(
        examples_of(place.folder, criterion=name), LearnSettings(words_only=True)
    )
    return {
        "verdict": verdict_sentence(learned.figures),
        "lines": list(lines(learned, in_text=False)),
        "figures": learned.figures.to_dict(),
        "judges": [
            {"name": NAMES[way.name], "auc": way.auc.to_dict(), "accuracy": way.accuracy.to_dict()}
            for way in learned.figures.judges
        ],
        "mistakes": [
            {
                "row": example.row,
                "name": example.name,
                "identity": example.identity,
                "text": _judged_text(example),
                "people": example.answer,
            }
            for example in learned.mistakes[:_MOST_MISTAKES]
        ],
    }


def _judged_text(example: Example) -> str:
    *_, value = shown_fields(example.ballot.criteria, example.ballot.instance).values()
    text = " ".join((value if isinstance(value, str) else " | ".join(value)).split())
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def _link_data(
    library: Library,  # noqa: ARG001
    place: RunPlace,
    judge: str,  # noqa: ARG001
    query: Mapping[str, str],  # noqa: ARG001
    remaining: Callable[[], Collection[int] | None],  # noqa: ARG001
) -> JsonDict:
    """Offer the page once a criterion has enough labels."""
    return {"can_learn": max(labelled_rows_by_criterion(place).values(), default=0) >= FEWEST}


PAGE = Page(
    name="learning",
    routes=(Route("/run/{run}/learn", show),),
    package="adjudge.features.learning",
    rows=ListPart(filters="learning/link.html.jinja", filter_data=_link_data),
)
