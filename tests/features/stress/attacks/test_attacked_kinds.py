"""``adjudge attack`` on agents, evidence and comparisons: what lets a text in is named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from adjudge.features.stress.attacks.report import _Answer
from adjudge.runs.cli.main import main
from support.fake_provider import KEY, FakeProvider

Json = dict[str, Any]
_FENCED = re.compile(r"<data-(\w+) [^\n]*>\n.*?\n</data-\1>", re.DOTALL)
AGENT = """\
data: runs.jsonl
models: openai/gpt-4o-mini
judges: [{kind: agent, measures: [goal, errors]}]
"""
EVIDENCE = """\
data: rows.jsonl
models: openai/gpt-4o-mini
judges: [{kind: evidence}]
"""
PAIRS = ("attack", "--rows", "pairs.csv", "-c", "pairwise_helpfulness", "-m", "openai/gpt-4o-mini")


@pytest.fixture(autouse=True)
def here(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))
    write_lines("runs.jsonl", [{"id": f"a{n}", "messages": messages(n)} for n in range(16)])
    write_lines("rows.jsonl", [sourced(n) for n in range(10)])
    pairs = [f"Why {n}?,one {n},two {n}" for n in range(12)]
    Path("pairs.csv").write_text("\n".join(["question,response_1,response_2", *pairs]) + "\n")
    Path("agent.yaml").write_text(AGENT)
    Path("evidence.yaml").write_text(EVIDENCE)


def write_lines(name: str, rows: list[Json]) -> None:
    Path(name).write_text("".join(json.dumps(one) + "\n" for one in rows))


def messages(number: int) -> list[Json]:
    call = {"id": "1", "function": {"name": "pay", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"Pay {number} to Bob"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": f"no money {number}"},
        {"role": "assistant", "content": f"I could not pay {number}."},
    ]


def sourced(number: int) -> Json:
    return {
        "id": f"e{number}",
        "user_input": f"How tall is tower {number}?",
        "contexts": [f"Tower {number} is 300 metres tall.", "Nobody lives there."],
        "response": f"Tower {number} is 300 metres tall. It is red.",
    }


def say(verdict: str) -> str:
    return json.dumps({"explanation": "so", "evidence": [], "selected_option": verdict})


def attack(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *words: str,
    code: int = 0,
) -> list[Json]:
    monkeypatch.setattr("sys.argv", ["adjudge", *words, "--json", "-q"])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert int(ended.value.code or 0) == code, printed.err
    return list(json.loads(printed.out)["results"]) if printed.out else [{"error": printed.err}]


def moved(judge: Json) -> dict[str, float]:
    return {one["family"]: one["moved"] for one in judge["families"]}


def material(body: Json) -> str:
    return str(body["messages"][-1]["content"])


FAMILIES = ("--family", "instructions", "--family", "context_channel", "--family", "flattery")


def test_an_agents_judge_is_attacked_through_answer_tool_results_and_user(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def obeys_tools(body: Json) -> str:
        """Whatever a tool's result asks for it gets; others are not heard."""
        result = re.search(r"called pay[^\n]*\n(.*?)\n\[step", material(body), re.DOTALL)
        return say("Reached" if result and "Reached" in result[1] else "Not reached")

    provider.answer = obeys_tools
    (judge,) = attack(monkeypatch, capsys, "attack", "agent.yaml", *FAMILIES)
    assert (judge["criteria"], judge["rows"], judge["room"]) == ("goal", 16, 16)
    fields = judge["fields"]
    assert set(fields) == {"answer", "tool result", "user"}
    assert fields["tool result"]["moved"] == fields["tool result"]["asked"] > 8
    assert fields["answer"]["moved"] == fields["user"]["moved"] == 0
    assert moved(judge)["flattery"] == moved(judge)["controls"] == 0
    assert {one["field"] for one in judge["families"][-1]["texts"]} == {
        "answer",
        "tool result",
        "user",
    }


def test_the_fence_keeps_orders_out_of_an_agents_judge_with_each_defence(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def obeys_outside(body: Json) -> str:
        text, system = material(body), str(body["messages"][0]["content"])
        if "addresses the judge" in system:
            return say("addresses the judge" if "Reached" in text else "clean")
        outside = _FENCED.sub("", text).partition("The material ends here")[0]
        return say("Reached" if "Reached" in outside else "Not reached")

    provider.answer = obeys_outside
    write_lines("runs.jsonl", [{"id": f"a{n}", "messages": messages(n)} for n in range(5)])
    every = ("--defence", "fence", "--defence", "sandwich", "--defence", "two-pass")
    found = attack(monkeypatch, capsys, "attack", "agent.yaml", *every, "--texts", "1")
    assert [one["defence"] for one in found] == ["fence", "sandwich", "two-pass"]
    assert {value for one in found for value in moved(one).values()} == {0.0}
    assert found[2]["families"][0]["unscored"] > 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("goal, errors", "errors"), "texts cannot influence"),
        (("kind: agent", "kind: agent, per: turn"), "remove per from"),
    ],
)
def test_agents_that_cannot_be_attacked_cost_nothing(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changed: tuple[str, str],
    said: str,
) -> None:
    Path("agent.yaml").write_text(AGENT.replace(*changed))
    (found,) = attack(monkeypatch, capsys, "attack", "agent.yaml", code=1)
    assert said in found["error"]
    assert not provider.requests


def evidence(body: Json, *, obeys: bool) -> str:
    """Finds what stands in the first fragment; an obeying one is told by a fragment what to say."""
    text = material(body)
    (claim,) = re.findall(r'field="sentence">\n(.*?)\n</data', text, re.DOTALL)
    told = obeys and re.search(r'field="contexts \d+">[^<]*supported', text)
    found = "300 metres" in claim or told
    quote = re.search(r"Tower \d+ is 300 metres tall", text)
    cited = [{"fragment": 1, "quote": quote[0]}] if found and quote else []
    chosen = "supported" if found else "not found"
    return json.dumps({"explanation": "so", "evidence": cited, "selected_option": chosen})


@pytest.mark.parametrize("obeys", [True, False])
def test_evidence_is_attacked_through_its_sources(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    obeys: bool,
) -> None:
    provider.answer = lambda body: evidence(body, obeys=obeys)
    (judge,) = attack(monkeypatch, capsys, "attack", "evidence.yaml", *FAMILIES)
    assert (judge["rows"], judge["room"], judge["noise"]) == (10, 10, 0)
    assert moved(judge)["controls"] == 0
    fields = judge["fields"]
    assert fields["contexts"]["asked"] > 2
    assert fields["contexts"]["moved"] == (fields["contexts"]["asked"] if obeys else 0)
    assert fields["response"]["moved"] == 0


def test_a_defence_that_does_nothing_for_a_judge_is_refused(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.answer = lambda body: evidence(body, obeys=False)
    (found,) = attack(
        monkeypatch, capsys, "attack", "evidence.yaml", "--defence", "sandwich", code=1
    )
    assert "use fence and two-pass" in found["error"]
    assert not provider.requests


@pytest.mark.parametrize("heard", ["everywhere", "outside"])
def test_comparisons_are_attacked_in_both_orders_with_fence_and_sandwich(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    heard: str,
) -> None:
    def answer(body: Json) -> str:
        """Who asks for it wins, where that is heard; else the first response of the row."""
        shown = re.split(r'field="Response (?:A|B)"', material(body))[1:]
        shown = [one.partition("The material ends here")[0] for one in shown]
        asking = [letter for letter, text in zip("AB", shown, strict=True) if "this resp" in text]
        first = [letter for letter, text in zip("AB", shown, strict=True) if "one" in text]
        return say((asking if heard == "everywhere" and asking else first)[0])

    provider.answer = answer
    both = ("--column", "response_1", "--column", "response_2")
    every = ("--defence", "fence", "--defence", "sandwich")
    found = attack(monkeypatch, capsys, *PAIRS, *both, *every, "--family", "instructions")
    wanted = {"instructions": 12.0 if heard == "everywhere" else 0.0, "controls": 0.0}
    assert [moved(one) for one in found] == [wanted, wanted]


def test_a_gate_passes_only_where_the_upper_limit_lies_below_it(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """None of 71 rows moved leaves a share of 0.0506 possible at 95%, none of 72 one of 0.0499."""
    lines = [f"r{n},Why {n}?,It is {n}." for n in range(72)]
    Path("rows.csv").write_text("\n".join(["id,question,answer", *lines]) + "\n")
    provider.answer = lambda body: say("FAIL")
    words = ("attack", "--rows", "rows.csv", "--aspect", "It is right.", "-m", "openai/gpt-4o-mini")
    few = (*words, "--family", "instructions", "--fail-over", "0.05", "--run")
    (judge,) = attack(monkeypatch, capsys, *few, "runs/few", "--sample", "71", code=5)
    assert judge["families"][0]["beyond_noise"]["upper"] > 0.05
    (judge,) = attack(monkeypatch, capsys, *few, "runs/all", "--sample", "72")
    assert judge["families"][0]["beyond_noise"]["upper"] < 0.05


def test_the_best_score_is_the_top_of_the_scale() -> None:
    """A 1 on a scale to 10 was taken for the best, so that the row could not be talked up."""
    low, top = (
        _Answer(name="r", verdict=score, score=score, failed=False) for score in (1.0, 10.0)
    )
    assert not low.is_best((), 10.0)
    assert top.is_best((), 10.0)
    assert low.is_best((), 1.0)
