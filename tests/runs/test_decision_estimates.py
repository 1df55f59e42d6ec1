"""A dry run counts the requests that decision models get: several judges share them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adjudge.core.gateway.decisions.openai import OpenAIDecisions
from adjudge.runs.eval_file import parse_eval
from adjudge.runs.execute import estimate, execute
from adjudge.runs.plan import Plan, resolve
from support.decision_server import DecisionServer, serving

JUDGES = """
  - {kind: aspect, criteria: [%s]}
  - {kind: aspect, criteria: [It is short., It is polite.], votes: 2, name: twice}
  - kind: direct
    name: team
    criteria:
      - {name: who, description: Whose is it, options: [{name: A}, {name: B}, {name: C}]}
    check_positional_bias: true
"""


@pytest.fixture
def server() -> Iterator[DecisionServer]:
    with serving() as fake:
        yield fake


def planned(server: DecisionServer, folder: Path, rows: str, count: int = 70) -> Plan:
    (folder / "rows.csv").write_text(f"id,answer\n{rows}")
    criteria = ", ".join(f"It is good in way {number}." for number in range(count))
    text = f"data: rows.csv\nmodels: systemone:{server.url}#fake-1\njudges:{JUDGES % criteria}"
    return resolve(parse_eval(text, folder / "eval.yaml"), folder=folder / "run", cache=False)


def ran(plan: Plan, server: DecisionServer) -> int:
    """The number of requests that the plan sends."""
    before = len(server.requests)
    with execute(plan) as events:
        list(events)
    return len(server.requests) - before


def test_questions_of_several_judges_are_counted_as_the_requests_that_are_sent(
    server: DecisionServer, tmp_path: Path
) -> None:
    plan = planned(server, tmp_path, "1,one\n2,two\n3,one\n")
    # per text: 73 questions in two requests, one of the second votes, one in the other order
    assert estimate(plan).calls == (8, 8)
    assert ran(plan, server) == 8
    assert estimate(plan).calls == (0, 0)


def test_a_run_that_goes_on_is_asked_only_what_is_missing(
    server: DecisionServer, tmp_path: Path
) -> None:
    ran(planned(server, tmp_path, "1,one\n", count=3), server)
    plan = planned(server, tmp_path, "1,one\n2,two\n", count=5)
    # two more criteria about the first text, all of them about the second
    assert estimate(plan).calls == (4, 4)


def test_one_name_at_two_servers_is_two_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    (tmp_path / "rows.csv").write_text("id,answer\n1,one\n2,two\n")
    with serving(OpenAIDecisions()) as first, serving(OpenAIDecisions()) as second:
        models = [
            f"models: [{{model: openai-decisions/m, base_url: '{server.url}/v1'}}]"
            for server in (first, second)
        ]
        text = "data: rows.csv\njudges:\n" + "".join(
            f"  - {{kind: aspect, criteria: [It is {what}.], {model}}}\n"
            for what, model in zip(("short", "polite"), models, strict=True)
        )
        eval_file = parse_eval(text, tmp_path / "eval.yaml")
        plan = resolve(eval_file, folder=tmp_path / "run", cache=False)
        assert estimate(plan).calls == (4, 4)
        with execute(plan) as events:
            list(events)
        sent = [*first.requests, *second.requests]
    assert [len(request.questions) for request in sent] == [1, 1, 1, 1]
