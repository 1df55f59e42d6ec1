"""Trajectories by rules and by questions to a model, with evidence that is checked as shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adjudge import AgentEvaluator, SetupError, Status, Trajectory
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.ledger.codec import judgment_of, judgment_row
from adjudge.features.agents.judge import instances_of
from adjudge.features.agents.measures import MEASURES
from adjudge.features.agents.record import AgentDetail
from adjudge.features.agents.result import TrajectoryResult
from adjudge.features.agents.trajectory import Step, ToolCall
from adjudge.runs.folder import records_of
from support.agents import MESSAGES, answering, material_of, payment


def evaluate(
    model: object, run: Trajectory, *measures: str, **settings: object
) -> TrajectoryResult:
    (result,) = AgentEvaluator(model, measures=measures, **settings).evaluate([run])  # type: ignore[arg-type]
    return result


def test_rules_ask_nobody() -> None:
    result = evaluate(
        None,
        payment(error="no money"),
        "calls_f1",
        "errors",
        "steps",
        "ended",
        expect={"1": ["pay"]},
    )
    assert result.scores == {"calls_f1": 2 / 3, "errors": 1.0, "steps": 4.0, "ended": 1.0}
    assert result.options["ended"] == "PASS"
    assert result["errors"].parts[0].step == 3
    assert "step 3 failed" in str(result["errors"].explanation)


def test_nothing_to_measure_is_no_number() -> None:
    result = evaluate(None, payment(), "calls", "calls_precision")
    assert result.scores == {"calls": None, "calls_precision": None}
    assert result["calls"].status is Status.SKIPPED
    assert "reference_calls" in str(result["calls"].reason)


def test_evidence_is_looked_for_where_it_was_shown() -> None:
    cited = [
        {"step": 2, "quote": "holds 7 euros", "absent": None},
        {"step": 4, "quote": "paid 5 to Bob", "absent": None},
        {"step": 2, "quote": "never said anywhere", "absent": None},
    ]
    result = evaluate(answering("Reached", cited), payment(), "goal")
    first, second, third = result.evidence["goal"]
    assert (first.step, first.found) == (2, "proven")
    assert (second.step, second.found) == (3, "moved")
    assert (third.step, third.found) == (2, "invented")
    goal = result["goal"]
    assert (goal.score, goal.option) == (1.0, "Reached")
    assert sum(goal.invented.values()) == 1
    assert sum(goal.moved.values()) == 1


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"step": 99, "quote": "paid 5 to Bob"}, "void"),
        ({"step": None, "quote": None, "absent": "a question to the user"}, "absent"),
        ({"step": "step 3", "quote": "paid 5 to Bob"}, "proven"),
    ],
)
def test_evidence_that_is_not_there_does_not_fail_the_vote(
    given: dict[str, object], found: str
) -> None:
    result = evaluate(answering("Partly", [given]), payment(), "goal")
    assert result.scores == {"goal": 0.5}
    assert [one.found for one in result.evidence["goal"]] == [found]


def test_at_most_three_pieces_count() -> None:
    pieces = [{"step": 2, "quote": "holds 7 euros"}] * 9
    assert len(evaluate(answering("Reached", pieces), payment(), "goal").evidence["goal"]) == 3


def test_policy_names_its_paragraph_or_none() -> None:
    broken = evaluate(answering("Broken", paragraph=2), payment(), "policy")
    assert (broken["policy"].option, broken["policy"].paragraph) == ("Broken", 2)
    other = evaluate(answering("Broken", paragraph=7), payment(), "policy")
    assert (other["policy"].option, other["policy"].paragraph) == ("Broken", None)
    own = answering("Kept")
    evaluate(own, payment(), "policy", policy="No refunds.\n\nNo gifts.")
    assert "§2 No gifts." in material_of(own.prompts[0])  # type: ignore[attr-defined]
    assert "Ask first" not in material_of(own.prompts[0])  # type: ignore[attr-defined]


def test_no_policy_is_not_judged(tmp_path: Path) -> None:
    never = answering("Kept")
    result = evaluate(never, replace(payment(), system=""), "policy", "in_role")
    assert result.scores == {"policy": None, "in_role": None}
    assert result["policy"].status is Status.SKIPPED
    assert not never.prompts  # type: ignore[attr-defined]


def test_conversations_show_calls_as_lines() -> None:
    model = answering("Calm")
    evaluate(model, payment(), "frustrated")
    shown = material_of(model.prompts[0])  # type: ignore[attr-defined]
    assert "balance({})" in shown
    assert "7 euros" not in shown


def test_tools_are_shown_to_who_judges_their_choice() -> None:
    model = answering("Right")
    evaluate(model, payment(), "tool_choice")
    assert "pay: Pay somebody. With care." in material_of(model.prompts[0])  # type: ignore[attr-defined]


def test_too_long_is_a_failed_vote_with_its_size() -> None:
    run = replace(payment(), steps=(Step(1, "user", "said", "word " * 2000), *payment().steps[1:]))
    never = answering("Reached")
    result = evaluate(never, run, "goal", steps_tokens=1000)
    goal = result["goal"]
    assert goal.status is Status.FAILED
    assert goal.score is None
    assert "too long for" in str(goal.reason) and "tokens" in str(goal.reason)
    assert not never.prompts  # type: ignore[attr-defined]


def test_shortened_is_said_and_flagged() -> None:
    long = Step(2, "a", "called", "", ToolCall("read", {}, "word " * 4000))
    run = replace(payment(), steps=(payment().steps[0], long, *payment().steps[2:]))
    (result,) = AgentEvaluator(answering("Reached"), measures=["goal"], steps_tokens=2000).evaluate(
        [run]
    )
    assert result["goal"].shortened
    assert "shortened" in result["goal"].record().flags
    assert any("characters of the steps" in note for note in result["goal"].notes)


def test_blame_two_votes_that_agree() -> None:
    model = answering("ignored error", step=3, agent="somebody else")
    result = evaluate(model, payment(error="no money"), "blame")
    blame = result["blame"]
    assert (blame.step, blame.agent, blame.option) == (3, "payer", "ignored error")
    assert blame.score is None
    assert len(model.prompts) == 2  # type: ignore[attr-defined]


def blaming(steps: list[int], mistake: int) -> Any:
    """A model whose votes name other steps; step by step it finds one."""

    def model(prompt: str) -> str:
        prompts.append(prompt)
        if "first part" in prompt.split("The material:", maxsplit=1)[0]:
            field = prompt.split('field="first part">\n')[1].split("\n", maxsplit=1)[0]
            last = int(field.split("–")[1])
            option = "first part" if mistake <= last else "second part"
        elif "no mistake" in prompt:
            last = max(n for n in range(1, 9) if f"[step {n} " in material_of(prompt))
            option = "wrong tool" if last == mistake else "no mistake"
        else:
            step = steps[len(prompts) - 1]
            return json.dumps(
                {
                    "explanation": "",
                    "evidence": [],
                    "step": step,
                    "agent": "x",
                    "selected_option": "loop",
                }
            )
        return json.dumps({"explanation": "", "evidence": [], "selected_option": option})

    prompts: list[str] = []
    model.prompts = prompts  # type: ignore[attr-defined]
    return model


def test_blame_step_by_step_only_where_votes_differ() -> None:
    model = blaming([2, 4], mistake=3)
    blame = evaluate(model, payment(error="x"), "blame")["blame"]
    assert (blame.step, blame.agent, blame.option) == (3, "payer", "wrong tool")
    assert len(model.prompts) == 4, "two at once, then steps 2 and 3"


@pytest.mark.parametrize(("method", "calls"), [("step by step", 2), ("halves", 3)])
def test_blame_in_other_ways(method: str, calls: int) -> None:
    model = blaming([], mistake=3)
    blame = evaluate(model, payment(error="x"), "blame", blame=method)["blame"]
    assert (blame.step, blame.option) == (3, "wrong tool")
    assert len(model.prompts) == calls


def test_own_kinds_of_mistakes() -> None:
    result = evaluate(
        answering("rudeness", step=2, agent="a"), payment(), "blame", kinds=["rudeness", "haste"]
    )
    assert result.options["blame"] == "rudeness"


def checking(prompt: str) -> str:
    if "You write a checklist" in prompt:
        checking.lists += 1  # type: ignore[attr-defined]
        return json.dumps(
            {"points": ["Bob has 5 more", "Nobody else was paid", "A receipt is there"]}
        )
    said = ["met", "missed", "cannot be told"]
    return json.dumps(
        {"answers": [{"number": n, "selected_option": one} for n, one in enumerate(said, 1)]}
    )


def test_a_checklist_is_derived_once_for_a_task() -> None:
    checking.lists = 0  # type: ignore[attr-defined]
    judge = AgentEvaluator(checking, measures=["checklist"], derive=True)
    results = judge.evaluate([payment(), payment(answer="Done."), payment(error="x")])
    assert [one.scores["checklist"] for one in results] == [0.5, 0.5, 0.5]
    assert [point.met for point in results[0]["checklist"].points or ()] == [True, False, None]
    assert checking.lists == 1  # type: ignore[attr-defined]


def test_without_a_list_there_is_no_checklist() -> None:
    result = evaluate(checking, payment(), "checklist")
    assert result["checklist"].status is Status.SKIPPED


def test_what_the_answer_says_is_looked_up_in_results() -> None:
    def model(prompt: str) -> str:
        assert (
            "I paid Bob"
            not in prompt.split('field="sentences', maxsplit=1)[0].split("The material:")[1]
        )
        evidence = [{"fragment": 3, "quote": "paid 5 to Bob"}]
        one = {"number": 1, "evidence": evidence, "selected_option": "supported"}
        return json.dumps({"sentences": [one]})

    result = evaluate(model, payment(), "reported_truly")["reported_truly"]
    assert (result.score, result.option) == (1.0, "supported")
    assert result.sentences is not None
    assert result.sentences.sentences[0].evidence[0]["fragment"] == 3, "the number of the step"


def test_only_where_another_measure_says_so() -> None:
    model = answering("Reached", step=2, agent="x")
    result = evaluate(model, payment(), "blame", only={"goal": "Not reached"})
    assert result["blame"].status is Status.SKIPPED
    assert "goal is Reached" in str(result["blame"].explanation)
    assert len(model.prompts) == 1  # type: ignore[attr-defined]
    by_rule = evaluate(
        answering("loop", step=2, agent="x"), payment(error="x"), "blame", only={"errors": ">0"}
    )
    assert by_rule["blame"].step == 2


@pytest.mark.parametrize(
    ("per", "steps", "ids"),
    [
        ("trajectory", None, ["1"]),
        ("turn", None, ["1 turn 1"]),
        ("step", "errors", ["1 step 3"]),
        ("step", "last 2", ["1 step 3", "1 step 4"]),
        ("step", "calls of balance", ["1 step 2"]),
    ],
)
def test_per_trajectory_turn_or_step(per: str, steps: str | None, ids: list[str]) -> None:
    judge = AgentEvaluator(answering("Right"), measures=["tool_choice"], per=per, steps=steps)  # type: ignore[arg-type]
    assert [one.id for one in judge.evaluate([payment(error="x")])] == ids


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"measures": ["gaol"]}, "unknown measure 'gaol'; did you mean 'goal'"),
        ({"measures": []}, "at least one measure"),
        ({"measures": ["goal", "goal"]}, "named twice"),
        ({"per": "step"}, "per: step needs steps"),
        ({"only": {"goal": "Maybe"}}, "only: goal must be one of Reached, Partly, Not reached"),
        ({"only": {"errors": "many"}}, "compared with a number"),
        ({"order": "sorted"}, "order must be one of"),
        ({"steps_tokens": 1}, "steps_tokens must be"),
    ],
)
def test_what_cannot_be_is_said_before_any_call(settings: dict[str, object], said: str) -> None:
    with pytest.raises(SetupError, match=said):
        AgentEvaluator(answering("Reached"), **settings)  # type: ignore[arg-type]


def test_every_measure_is_kept_as_it_was(tmp_path: Path) -> None:
    """What a run folder holds is what was found, the trajectory with the first measure."""
    folder = tmp_path / "run"
    names = [name for name in MEASURES if name not in ("checklist", "reported_truly")]
    model = answering("Reached", [{"step": 2, "quote": "7 euros"}], step=3, agent="x")
    judge = AgentEvaluator(model, measures=names, expect={"1": ["pay"]}, required=["pay"])
    (result,) = judge.evaluate([payment(error="x")], run=str(folder))
    kept = list(records_of(folder))
    assert [one.criterion for one in kept] == names
    for record, made in zip(kept, result.results.values(), strict=True):
        assert isinstance(record.detail, AgentDetail)
        assert record.detail == made.detail()
    assert kept[0].detail.trajectory == payment(error="x")  # type: ignore[attr-defined]
    assert all(one.detail.trajectory is None for one in kept[1:])  # type: ignore[attr-defined]
    before = len(model.prompts)  # type: ignore[attr-defined]
    judge.evaluate(payment(error="x"), run=str(folder))
    assert len(model.prompts) == before, "nothing is asked twice"  # type: ignore[attr-defined]


def test_a_record_comes_back_from_its_row() -> None:
    (result,) = AgentEvaluator(
        answering("Broken", [{"step": 2, "quote": "7 euros"}], paragraph=1), measures=["policy"]
    ).evaluate([payment()])
    record: JudgmentRecord = result["policy"].record("agent", 0)
    row = judgment_row(record, b"")
    assert judgment_of(row[:-1]).detail == record.detail


def test_messages_files_and_lists_of_them(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(MESSAGES))
    judge = AgentEvaluator(measures=["steps", "ended"])
    (listed,) = judge.evaluate([MESSAGES])
    assert listed.verdict is None
    assert judge.evaluate(Trajectory.of(MESSAGES)) == listed
    for given in (MESSAGES, path, str(path), [MESSAGES]):
        (result,) = judge.evaluate(given)
        assert result.scores == {"steps": 4.0, "ended": 1.0}
    assert len(list(instances_of([payment(), payment()]))) == 2


CALL = {"id": "1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
TRIP: dict[str, Any] = {
    "id": "trip",
    "messages": [
        {"role": "user", "content": "Pay."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "1", "content": "paid"},
        {"role": "assistant", "content": "Done."},
    ],
}


def test_one_row_of_a_program_has_one_result() -> None:
    result = AgentEvaluator(measures=["calls_f1"]).evaluate({**TRIP, "reference_calls": ["pay"]})
    assert isinstance(result, TrajectoryResult)
    assert (result.id, result.scores) == ("trip", {"calls_f1": 1.0})


def test_rows_of_a_program_keep_their_columns() -> None:
    rows = [{**TRIP, "reference_calls": ["pay"]}, {**TRIP, "id": "b", "reference_calls": ["fly"]}]
    results = AgentEvaluator(measures=["calls_f1"]).evaluate(rows)
    assert [(result.id, result.scores["calls_f1"]) for result in results] == [
        ("trip", 1.0),
        ("b", 0.0),
    ]
    (result,) = AgentEvaluator(measures=["calls_f1"]).evaluate([TRIP["messages"]])
    assert result.scores == {"calls_f1": None}


def test_expected_calls_are_found_by_the_id_of_a_row() -> None:
    judge = AgentEvaluator(measures=["calls_f1"], expect={"trip": ["pay", "pay", "pay"]})
    result = judge.evaluate(TRIP)
    assert isinstance(result, TrajectoryResult)
    assert result.scores == {"calls_f1": 0.5}


def test_a_text_in_a_list_is_no_trajectory() -> None:
    with pytest.raises(SetupError, match="is not a trajectory"):
        AgentEvaluator(measures=["steps"]).evaluate(["runs.jsonl"])
