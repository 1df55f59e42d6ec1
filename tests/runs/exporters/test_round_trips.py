"""Every kind of run goes to every other tool and comes back with the same figures, or the export
says what it left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge import (
    AgentEvaluator,
    AspectCritic,
    Criteria,
    CriteriaOption,
    DirectJudge,
    Instance,
    PairwiseInstance,
    PairwiseJudge,
    RagEvaluator,
    RubricJudge,
    RunError,
    SetupError,
    Trajectory,
)
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.features.importers.importing import import_file
from adjudge.runs.exporters.export import write_export
from adjudge.runs.exporters.scores import trace_scores
from adjudge.runs.folder import records_of
from support.importing import SAMPLES
from support.rag import ROW, gives

TOOLS = ("promptfoo", "inspect", "langfuse", "phoenix", "evalassist")
LOST, OPEN = "lost", "open"
REPLIES = {LOST: "nonsense", OPEN: '{"explanation": "cannot tell", "selected_option": null}'}
Run = Callable[[Path], object]
Figures = dict[tuple[str, str], dict[str, Any]]


def reply(answer: str) -> str:
    return REPLIES.get(answer) or json.dumps({"explanation": "so", "selected_option": answer})


def answering(**answers: Sequence[str]) -> Callable[[str], str]:
    """A model that answers by the name of the question and the number of the row."""

    def model(prompt: str) -> str:
        names = re.findall(r"Question (\w+)\?", prompt) or ["aspect"]
        return reply(answers[names[0]][int(re.findall(r"text (\d+)", prompt)[-1])])

    return model


def criteria(name: str, **scores: float | None) -> Criteria:
    options = [CriteriaOption(option, "", score) for option, score in scores.items()]
    return Criteria(name, f"Question {name}?", options)


STARS = {str(number): float(number) for number in range(1, 6)}
GOOD_YES, GOOD_NO = criteria("kind", Yes=1, No=0), criteria("rude", Yes=0, No=1)
RATING, SHARED = criteria("rating", **STARS), criteria("shared", Good=1, Fine=0.5, Bad=0, Void=0)
UNSCORED = criteria("type", Offer=1, Refusal=0, Other=None)


def rows(count: int) -> list[Instance]:
    return [
        Instance({"question": f"q{n}", "response": f"text {n}"}, id=f"r{n}") for n in range(count)
    ]


def direct(*asked: Criteria, **answers: Sequence[str]) -> Run:
    judge = DirectJudge(answering(**answers), max_repairs=0)
    pairs = [(row, each) for row in rows(len(answers[asked[0].name])) for each in asked]
    return lambda run: judge.evaluate(*map(list, zip(*pairs, strict=True)), run=run)


def panel(run: Path) -> None:
    """A score may be a third."""
    words = {"P": "PASS", "F": "FAIL", "-": LOST}
    votes = ["PPFPF-", "PFFPFP", "FPPPF-"]
    models = [answering(aspect=[words[vote] for vote in model]) for model in votes]
    AspectCritic("It is good.", models, max_repairs=0).evaluate(rows(6), run=run)


def rubric(run: Path) -> None:
    """A row with a penalty may score far below 0, and one without a verdict has bounds."""
    points: list[JsonValue] = [
        {"text": "Right.", "points": 2},
        {"text": "Rude.", "points": -4},
    ]
    verdicts = ["met met", "not_met met", "met not_met", "lost"]

    def model(prompt: str) -> str:
        words = verdicts[int(re.findall(r"text (\d+)", prompt)[-1])].split()
        labels = re.findall(r"^(\d+[a-z]): ", prompt, re.MULTILINE)
        answers = [
            {"point": label, "explanation": "so", "verdict": word}
            for label, word in zip(labels, words, strict=False)
            if word != LOST
        ]
        return json.dumps({"points": answers})

    judged: list[JsonDict] = [
        {"id": f"r{n}", "response": f"text {n}", "rubric": points} for n in range(4)
    ]
    RubricJudge(model, max_repairs=0).evaluate(judged, run=run)


def compared(*rankings: str, systems: Sequence[str], **settings: Any) -> Run:
    """Each ranking is the letters of the responses, best first; "=" is a tie."""

    def model(prompt: str) -> str:
        shown = [*dict.fromkeys(re.findall(r"answer (\w) of (\d+)", prompt))]
        ranking = rankings[int(shown[0][1])]
        if ranking == LOST:
            return REPLIES[LOST]
        letters = {name: "ABC"[place] for place, (name, _) in enumerate(shown)}
        if ranking == "=":
            return reply("tie")
        best_first = [letters[name] for name in ranking if name in letters]
        return " > ".join(best_first) if len(shown) > 2 else reply(best_first[0])

    judged = [
        PairwiseInstance(
            {"question": f"q{n}", "response": [f"answer {name} of {n}" for name in systems]},
            f"r{n}",
            {"systems": [*systems]},
        )
        for n in range(len(rankings))
    ]
    judge = PairwiseJudge(model, max_repairs=0, **settings)
    return lambda run: judge.evaluate(judged, "Which is better?", run=run)


def agent_counts(run: Path) -> None:
    def trajectory(calls: int) -> Instance:
        messages: list[dict[str, object]] = [{"role": "user", "content": f"Task {calls}"}]
        for number in range(calls):
            call = {"id": str(number), "function": {"name": "look", "arguments": "{}"}}
            messages += [
                {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": str(number), "content": "nothing"},
            ]
        messages.append({"role": "assistant", "content": "Done."})
        whole = Trajectory.of(messages)
        return Instance(whole.fields, f"r{calls}", {"trajectory": whole})

    judged = [trajectory(calls) for calls in (1, 4)]
    AgentEvaluator(measures=["repeats", "ended"]).evaluate(judged, run=run)


def rag(run: Path) -> None:
    judged = [{**ROW, "id": "r0"}, {**ROW, "id": "r1", "response": "Six."}]
    RagEvaluator(gives(clarity=2)).evaluate(judged, run=run)


def eval_file(**file: object) -> Run:
    def judge(run: Path) -> None:
        folder = run.parent / f"{run.name}-data"
        folder.mkdir(parents=True)
        lines = [
            json.dumps({"id": f"r{n}", "question": f"q{n}", "response": f"text {n}"})
            for n in range(4)
        ]
        (folder / "rows.jsonl").write_text("\n".join(lines))
        (folder / "prompt.txt").write_text("{question}")
        (folder / "eval.yaml").write_text(json.dumps({"data": "rows.jsonl", **file}))
        adjudge.run(folder / "eval.yaml", folder=run)

    return judge


def entry(name: str, asked: Criteria, replies: str, **more: object) -> dict[str, object]:
    options = [{"name": each.name, "score": each.score} for each in asked.options]
    written = {"name": asked.name, "description": asked.description, "options": options}
    judge = {"kind": "direct", "name": name, "models": [f"scripted/{replies}"]}
    return {**judge, "criteria": [written], **more}


RUNS: dict[str, Run] = {
    "good yes": direct(GOOD_YES, kind=["Yes", "No", "Yes", LOST, OPEN]),
    "good no": direct(GOOD_NO, rude=["No", "No", "Yes", LOST, OPEN]),
    "shared scores": direct(SHARED, shared=["Good", "Fine", "Bad", "Void", "Good"]),
    "option without a score": direct(UNSCORED, type=["Offer", "Other", "Refusal", "Offer"]),
    "stars": direct(RATING, rating=["1", "1", "2", "5", LOST]),
    "several criteria": direct(
        *(GOOD_YES, GOOD_NO, RATING),
        kind=["Yes", "No", "Yes"],
        rude=["No", "No", LOST],
        rating=["5", "1", "2"],
    ),
    "panel": panel,
    "rubric": rubric,
    "pairs": compared("ab", "ba", "=", "ab", LOST, systems="ab"),
    "pairs in both orders": compared(
        *("ab", "ba", "=", "ba"), systems="ab", check_positional_bias=True
    ),
    "three systems": compared("bac", "bca", "abc", LOST, systems="abc"),
    "pairs of three systems": compared("bac", "bca", "abc", systems="abc", contests="pairs"),
    "rag": rag,
    "counts": agent_counts,
    "deepeval": lambda run: import_file(SAMPLES / "deepeval_4.3.1_latest_run_full.json", run),
    "two judges of one name": eval_file(
        judges=[
            entry("a", criteria("quality", Yes=1, No=0), "Yes,No,Yes,Yes"),
            entry("b", criteria("quality", **STARS), "1,5,2,1"),
        ]
    ),
    "two systems": eval_file(
        target=[
            {"name": "one", "model": "scripted/text 0,text 1,text 2,text 3"},
            {"name": "two", "model": "scripted/text 4,text 5,text 6,text 7"},
        ],
        prompts=["prompt.txt"],
        judges=[entry("a", GOOD_YES, "Yes,No,Yes,Yes,No")],
    ),
    "checks and skipped rows": eval_file(
        checks=[
            {"regex": "[01]", "name": "few", "required": True},
            {"regex": "[0-2]", "name": "more", "weight": 2},
        ],
        judges=[entry("a", GOOD_YES, "Yes,No", after="checks")],
    ),
}


def figures(run: Path) -> Figures:
    """By question and system: mean score, verdicts, statuses, kinds of failures and win rates."""
    judges: dict[str, set[str]] = defaultdict(set)
    for row in records_of(run):
        judges[row.criterion].add(row.judge)
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    found: Figures = defaultdict(lambda: defaultdict(Counter))
    for row in records_of(run, votes=True):
        several = len(judges[row.criterion]) > 1
        key = (f"{row.judge}: {row.criterion}" if several else row.criterion, row.answered_by)
        found[key]["statuses"][row.status] += 1
        if not row.scored:
            if row.status == "failed":
                found[key]["failures"].update([vote.outcome for vote in row.votes or ()][-1:])
            continue
        if row.score is not None:
            scores[key].append(row.score)
        found[key]["verdicts"][row.verdict] += 1
        for name, system in zip(row.systems, row.detail.system_results, strict=True):
            found[key]["contests"] += Counter(f"{name} {won}" for won in system.contest_results)
            found[key]["rates"][name] += system.winrate or 0.0
    for key, each in scores.items():
        found[key]["mean"] = pytest.approx(sum(each) / len(each))
    return {key: dict(each) for key, each in found.items()}


def held(before: Figures, tool: str) -> Figures:
    """Return the figures of a run that the format of a tool has a place for."""
    after: Figures = {}
    for key, each in before.items():
        kept = {name: each[name] for name in each if name not in LACKED.get(tool, ())}
        lost = {"skipped", *({"failed", "abstained"} if tool in ("langfuse", "phoenix") else ())}
        statuses = {name: count for name, count in each["statuses"].items() if name not in lost}
        is_count = key[0] == "repeats" and tool in ("promptfoo", "evalassist")
        if statuses and not is_count:
            after[key] = {**kept, "statuses": statuses}
    return after


LACKED = dict.fromkeys(("langfuse", "phoenix"), ("contests", "rates", "failures"))
REFUSED = {
    "promptfoo": "promptfoo cannot represent comparisons",
    "inspect": "Inspect cannot represent comparisons",
    "evalassist": "an EvalAssist test case needs one judge|has nothing to label",
}


@pytest.mark.parametrize("kind", RUNS)
def test_what_goes_out_comes_back(tmp_path: Path, kind: str) -> None:
    run = tmp_path / "run"
    RUNS[kind](run)
    before, refused = figures(run), list[str]()
    for tool in TOOLS:
        try:
            exported = write_export(run, tmp_path / f"{tool}.json", tool)
        except (SetupError, RunError) as error:
            assert re.search(REFUSED[tool], str(error))
            refused.append(tool)
            continue
        import_file(tmp_path / f"{tool}.json", tmp_path / tool)
        after = figures(tmp_path / tool)
        assert after == held(before, tool), tool
        lost = count(before) - count(after)
        assert (exported.left_out, bool(exported.notes)) == (lost, bool(exported.notes or lost))
    assert len(refused) < len(TOOLS)


def count(found: Figures) -> int:
    return sum(sum(each["statuses"].values()) for each in found.values())


def score_in_inspect(value: object) -> float:
    """A value as Inspect counts it."""
    words = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0}
    if isinstance(value, str):
        return words.get(value) or words.get(value.lower()) or 0.0
    assert isinstance(value, int | float)
    return float(value)


@pytest.mark.parametrize("kind", ["stars", "several criteria", "panel", "rubric", "two systems"])
def test_the_numbers_mean_the_same_in_the_tool(tmp_path: Path, kind: str) -> None:
    """promptfoo's scores are from 0 to 1, so that the worst of five stars, written as 1, was a full
    score there. Inspect averages values by scorer, and needs one sample for each id and epoch.
    """
    run = tmp_path / "run"
    RUNS[kind](run)
    means = {key: each["mean"].expected for key, each in figures(run).items()}
    write_export(run, tmp_path / "promptfoo.json", "promptfoo")
    results = json.loads((tmp_path / "promptfoo.json").read_text())["results"]["results"]
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    for result in results:
        assert 0 <= result["score"] <= 1
        (part,) = result["gradingResult"]["componentResults"]
        low, high = part["metadata"]["scale"]
        if result["failureReason"] != 2:
            system = result["provider"]["id"].replace("adjudge", "")
            key = (part["assertion"]["value"], system)
            scores[key].append(low + result["score"] * (high - low))
    assert {key: sum(each) / len(each) for key, each in scores.items()} == pytest.approx(means)
    write_export(run, tmp_path / "inspect.json", "inspect")
    log = json.loads((tmp_path / "inspect.json").read_text())
    assert len({(each["id"], each["epoch"]) for each in log["samples"]}) == len(log["samples"])
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for sample in log["samples"]:
        for scorer, score in sample["scores"].items():
            if score["value"] == score["value"]:  # not NaN
                system = sample["metadata"].get("system", "")
                values[scorer, system].append(score_in_inspect(score["value"]))
    assert {key: sum(each) / len(each) for key, each in values.items()} == pytest.approx(means)
    assert {each["name"] for each in log["eval"]["scorers"]} == {name for name, _ in means}


@pytest.mark.parametrize(
    "kind", ["good yes", "good no", "stars", "panel", "two judges of one name"]
)
def test_verdicts_sent_to_mlflow_come_back(tmp_path: Path, kind: str) -> None:
    """A good No came back as a bad one."""
    run = tmp_path / "run"
    RUNS[kind](run)
    sent = [body for _, body in trace_scores(run, "mlflow")]
    (tmp_path / "sent.json").write_text(json.dumps({"assessments": sent}))
    import_file(tmp_path / "sent.json", tmp_path / "again")
    assert figures(tmp_path / "again") == held(figures(run), "langfuse")
