"""Cascades at the fake provider: a cheap model whose votes agree where it is right, and a dear one
that is always right.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge import AspectCritic, Cascade, Instance, open_model
from adjudge.core.domain.label import Label
from adjudge.core.domain.results import AspectResult
from adjudge.core.judges.learnt_settings import Learnt
from adjudge.trust.labels.store import LabelStore
from support.asking import marked, truth
from support.fake_provider import KEY, FakeProvider

CHEAP, DEAR = "openai/gpt-4o-mini", "openai/gpt-4o"
VOTES = 3
Body = dict[str, Any]


def unsure(text: str) -> bool:
    """Where the cheap model's votes differ: every fourth row."""
    return int(text.split("-")[1]) % 4 == 1


def answers(body: Body) -> str | None:
    """The dear model says the truth; so does the cheap one where it is sure, and else only in one
    of three votes.
    """
    text = _mark(body)
    right = truth(text)
    wrong = "FAIL" if right == "PASS" else "PASS"
    says = (
        wrong if body["model"] == "gpt-4o-mini" and unsure(text) and body["seed"] % VOTES else right
    )
    return json.dumps({"explanation": "so it is", "selected_option": says})


def _mark(body: Body) -> str:
    whole = json.dumps(body)
    place = whole.rindex("REC-")
    return whole[place : place + len("REC-00000-Y")]


def steps(provider: FakeProvider, **changed: Any) -> list[AspectCritic]:
    """The cheap one with three votes, the dear one with two, so that the share of votes says how
    sure each is.
    """
    url = provider.base_url("openai")
    models = [open_model(name, base_url=url, api_key=KEY, max_retries=0) for name in (CHEAP, DEAR)]
    settings = {"name": "marks", "seed": 0, "temperature": 1.0, **changed}
    return [
        AspectCritic("The mark must end in Y.", model, votes, **settings)
        for model, votes in zip(models, (VOTES, 2), strict=True)
    ]


def dear_calls(provider: FakeProvider) -> int:
    """Requests that the dear model got."""
    return sum(body["model"] == "gpt-4o" for body in provider.bodies)


def judged(
    cascade: Cascade[Instance, AspectResult], count: int, run: Path | None = None, **more: Any
) -> list[AspectResult]:
    return cascade.evaluate(
        [Instance({"response": text}) for text in marked(count)], run=run, **more
    )


def label(run: Path, count: int) -> Path:
    """The truth about the first rows of a run, as a person says it."""
    LabelStore(run).add(
        *(
            Label(
                row=Instance({"response": text}).identity,
                criteria="marks",
                annotator="ann",
                option=truth(text),
                design="random",
                at=1_700_000_000.0,
            )
            for text in marked(count)
        )
    )
    return run


def learnt(path: Path, *found: Any) -> Path:
    Learnt(tuple(one.thresholds for one in found)).write(path)
    return path
