"""Runs whose verdicts a test decides, and labels about their rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from adjudge import (
    AspectCritic,
    DirectJudge,
    Instance,
    MultiCriteria,
    PairwiseJudge,
    Request,
    ScriptedModel,
)
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.label import Label

Verdict = Callable[[str], str]
"""What the model says of a prompt that holds a row's text."""


def model(verdict: Verdict, name: str = "scripted") -> ScriptedModel:
    def script(request: Request) -> str:
        chosen = verdict(request.prompt.text)
        return (
            json.dumps({"explanation": "because", "selected_option": chosen})
            if chosen
            else "I cannot say."
        )

    return ScriptedModel(script, name)


def judged(
    folder: Path,
    texts: Sequence[str],
    verdict: Verdict,
    definition: str = "The response gives a date.",
) -> Path:
    """A run of an aspect critic; the rows are called r0, r1, …"""
    critic = AspectCritic(definition, model(verdict), name="dates", max_repairs=0)
    critic.evaluate(
        [Instance({"response": text}, f"r{number}") for number, text in enumerate(texts)],
        run=folder,
    )
    return folder


def judged_by_two(folder: Path) -> Path:
    """70 rows by two criteria: every third is not kind, every seventh not short, row 5 says nothing
    about the latter.
    """
    kind, short = (
        replace(yes_no_criteria(f"Is it {name}?"), name=name) for name in ("kind", "short")
    )

    def verdict(prompt: str) -> str:
        number = int(prompt[prompt.rindex("text ") + 5 :].split(maxsplit=1)[0].strip("."))
        by, is_short = (3, False) if "Is it kind?" in prompt else (7, True)
        return "" if is_short and number == 5 else "No" if number % by == 0 else "Yes"

    DirectJudge(model(verdict), max_repairs=0).evaluate_multi_criteria(
        [Instance({"response": f"text {number} ."}, f"r{number}") for number in range(70)],
        MultiCriteria([kind, short]),
        run=folder,
    )
    return folder


def compared(folder: Path, pairs: Sequence[tuple[str, str]]) -> Path:
    """A run of a pairwise judge that prefers the first response."""
    PairwiseJudge(model(lambda _: "A")).evaluate(
        [list(pair) for pair in pairs], "Which is better?", run=folder
    )
    return folder


def identity(text: str) -> str:
    return Instance({"response": text}).identity


def label(text: str = "x", option: str | None = "PASS", **more: object) -> Label:
    values: Mapping[str, object] = {
        "row": identity(text),
        "criteria": "dates",
        "annotator": "ann",
        "option": option,
        **more,
    }
    return Label(**values)  # type: ignore[arg-type]
