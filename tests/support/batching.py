"""Shorthands to run an eval file in batches at the fake provider."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from adjudge.core.gateway.layers.budget import Budget
from adjudge.features.batches.backend import InBatches
from adjudge.features.batches.settings import BatchNews, BatchSettings
from adjudge.runs.eval_file import parse_eval
from adjudge.runs.execute import Event, JudgmentDone, execute
from adjudge.runs.exporters.export import export
from adjudge.runs.plan import Plan, resolve
from support.asking import marked
from support.fake_provider import KEY

QUICK = BatchSettings(poll=0.005, poll_most=0.01, grace=0.05, search=0.2)
MODELS = {
    "openai": "openai/gpt-4o-mini",
    "azure": "openai/my-deployment",
    "anthropic": "anthropic/claude-3-5-haiku-latest",
    "openrouter": "openrouter/meta-llama/llama-3.3-70b-instruct",
    "mistral": "mistral/mistral-small-latest",
    "google": "google/gemini-2.5-flash",
    "groq": "groq/llama-3.3-70b-versatile",
    "together": "together/meta-llama/Llama-3.3-70B-Instruct-Turbo",
}


class Served(Protocol):
    """A server, also one of another process."""

    def batch_url(self, api: str) -> str: ...


def eval_run(
    folder: Path,
    provider: Served,
    api: str = "openai",
    *,
    rows: int = 6,
    votes: int = 1,
    run: str = "run",
    key: str = KEY,
    judge: str = "",
    other_judge: str = "",
    models: str = "",
    cache: bool = False,
) -> Plan:
    """An aspect critic over marked texts, asked at the fake provider."""
    folder.mkdir(exist_ok=True)
    (folder / "rows.jsonl").write_text(
        "\n".join(json.dumps({"id": str(n), "answer": text}) for n, text in enumerate(marked(rows)))
    )
    server = f"{{model: {MODELS[api]}, base_url: {provider.batch_url(api)}}}"
    judged = f"{{kind: aspect, criteria: The mark must end in Y., strictness: {votes}{judge}}}"
    text = (
        f"data: rows.jsonl\nmodels: [{models or server}]\njudges: "
        f"[{judged}{', ' if other_judge else ''}{other_judge}]\n"
    )
    return resolve(
        parse_eval(text, folder / "eval.yaml"), cache=cache, api_key=key, folder=folder / run
    )


def judged(
    plan: Plan, settings: BatchSettings | None = QUICK, budget: Budget | None = None
) -> list[Event]:
    """Carry it out; what it told of."""
    with execute(
        plan.limited_to(budget), batch=InBatches(settings) if settings else None
    ) as events:
        return list(events)


def results(events: Sequence[Event]) -> list[JudgmentDone]:
    return sorted(
        (one for one in events if isinstance(one, JudgmentDone)), key=lambda one: one.number
    )


def news(events: Sequence[Event]) -> list[str]:
    return [one.kind for one in events if isinstance(one, BatchNews)]


def exported(folder: Path) -> tuple[str, list[Mapping[str, Any]]]:
    """The run as CSV, and as JSONL without the moments of its votes."""
    export(folder, folder / "out.csv")
    export(folder, folder / "out.jsonl")
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    for row in rows:
        for vote in row["votes"]:
            assert vote.pop("at") > 0
            vote.pop("latency")
    return (folder / "out.csv").read_text(), rows
