"""Judges whose agreement with people is known, on a server that speaks OpenAI's protocol."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from support import commands
from support.fake_provider import KEY, FakeProvider

ROWS = 20
_NUMBER = re.compile(r"row (\d+) of the set")


def truth(number: int) -> str:
    """What people say of a row."""
    return "Yes" if number % 2 else "No"


def other(answer: str) -> str:
    return "No" if answer == "Yes" else "Yes"


def prompt_of(body: Mapping[str, Any]) -> str:
    """Everything that a request shows."""
    return "\n".join(str(one["content"]) for one in body["messages"])


def row_of(body: Mapping[str, Any]) -> int:
    """Which row it is about: the last one named, behind any example."""
    return int(_NUMBER.findall(prompt_of(body))[-1])


def said(option: str) -> str:
    return json.dumps({"explanation": f"it is {option}", "selected_option": option})


class Judges:
    """Answers by the model's name; ``votes`` counts how often each asked about each row."""

    def __init__(self) -> None:
        self.votes: Counter[tuple[str, int]] = Counter()
        self.more: dict[str, Callable[[Mapping[str, Any]], str]] = {}

    def __call__(self, body: Mapping[str, Any]) -> str:
        model = str(body["model"])
        if model in self.more:
            return self.more[model](body)
        number = row_of(body)
        self.votes[model, number] += 1
        right = truth(number)
        wrong = {
            "good": number < 2,
            "poor": number % 4 == 0,
            "moody": number < 10 and self.votes[model, number] == 2,
            "right": False,
        }[model]
        return said(other(right) if wrong else right)


def environment(provider: FakeProvider) -> dict[str, str]:
    return {**os.environ, "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": provider.base_url("openai")}


def asked(provider: FakeProvider, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """``adjudge WORDS`` with models of the server."""
    return commands.adjudge(*words, cwd=folder, environment=environment(provider))


def ranking(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The one ranking that was printed."""
    assert done.stdout, done.stderr
    (found,) = json.loads(done.stdout)["results"]
    return dict(found)


def rows_csv(folder: Path, count: int = ROWS, column: str = "human") -> Path:
    path = folder / "rows.csv"
    lines = [f"q{number},row {number} of the set,{truth(number)}" for number in range(count)]
    path.write_text("\n".join([f"id,answer,{column}", *lines]) + "\n", encoding="utf-8")
    return path
