"""Conversations that are held: in memory, in a ledger, resumed, lost, replayed and continued."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from adjudge import Run
from adjudge.errors import BudgetSpent, SetupError
from adjudge.features.conversations.cassette import (
    ENDING,
    first_difference,
    read_cassettes,
    write_cassettes,
)
from adjudge.features.conversations.command import conversations
from adjudge.features.conversations.conversation import Conversation
from adjudge.features.conversations.record import ConversationDetail
from adjudge.features.conversations.report import ConversationTally
from adjudge.features.conversations.rows import conversations_of_run
from adjudge.runs.cli.main import main
from adjudge.runs.folder import records_of
from adjudge.runs.results.repeats import RepeatTally
from features.conversations import bot_script
from features.conversations.bot_script import Bot, run_eval, serving, write_eval
from support.commands import adjudge

KILLS = int(os.environ.get("ADJUDGE_KILLS", "2"))


def held(folder: Path) -> dict[str, Conversation]:
    return {
        f"{one.scenario.id} {one.system} {one.trial}": one.conversation
        for one in conversations_of_run(folder)
    }


def details(folder: Path, measure: str = "outcome") -> dict[str, ConversationDetail]:
    return {
        str(one.id): one.detail
        for one in records_of(folder)
        if isinstance(one.detail, ConversationDetail) and one.detail.measure == measure
    }


def test_conversations_are_held_and_judged_once(tmp_path: Path) -> None:
    bot = Bot()
    with serving(bot) as url:
        path = write_eval(tmp_path, f"{url}/chat", repeat=2)
        run_eval(path, tmp_path / "run")
        asked = len(bot.asked)
        run_eval(path, tmp_path / "run")
    assert len(bot.asked) == asked  # outcome and attribution share it, and so does a second run
    found = details(tmp_path / "run")
    assert len(found) == 6
    assert {one.option for one in found.values()} == {"passed"}
    (first, *_) = found.values()
    assert first.conversation is not None
    assert first.conversation.calls[0].name == "cancel"
    assert first.conversation.state == {"status": "cancelled"}
    others = details(tmp_path / "run", "attribution")
    assert {one.option for one in others.values()} == {"nobody"}
    repeats, talks = RepeatTally(), ConversationTally()
    for record in records_of(tmp_path / "run"):
        if record.criterion == "outcome":
            repeats.add(record)
            talks.add(record)
    (every,) = repeats.summary()
    assert "(pass^2), one time 100%; as it stands" in every.sentence("outcome")
    part = talks.summary()
    assert part is not None
    titles = [str(row.title) for row in part.figures_shown]
    assert "all of 2 trials pass with a faultless user (pass^2)" in titles


def test_sessions_of_two_runs_differ(tmp_path: Path) -> None:
    bot = Bot()
    with serving(bot) as url:
        path = write_eval(tmp_path, f"{url}/keeps", count=1, session="idempotent")
        run_eval(path, tmp_path / "one")
        run_eval(path, tmp_path / "two")
    assert len({one["session"] for one in bot.asked}) == 2
    assert set(bot.worked.values()) == {1}


def test_a_failing_application_loses_the_conversation(tmp_path: Path) -> None:
    bot = Bot()
    bot.fail = lambda body: body["turn"] == 2 and body["message"].endswith("user4001@example.com.")
    with serving(bot) as url:
        path = write_eval(tmp_path, f"{url}/chat", more=", max_turns: 6")
        path.write_text(path.read_text().replace("timeout: 20", "timeout: 20, max_retries: 0"))
        run_eval(path, tmp_path / "run")
        bot.fail = lambda _: False
        found = details(tmp_path / "run")
        assert found["s1"].option is None
        assert found["s1"].fault == "environment"
        assert found["s0"].option == "passed"
        before = len(bot.asked)
        run_eval(path, tmp_path / "run")  # it goes on at the same message
    assert details(tmp_path / "run")["s1"].option == "passed"
    assert [one["turn"] for one in bot.asked[before:]] == [2, 3, 4, 5]


def test_a_message_to_a_stateful_application_is_never_sent_twice(tmp_path: Path) -> None:
    bot = Bot()
    bot.fail = lambda body: body["turn"] == 3
    with serving(bot) as url:
        path = write_eval(tmp_path, f"{url}/chat", count=2, session="stateful")
        run_eval(path, tmp_path / "run")
        bot.fail = lambda _: False
        asked = len(bot.asked)
        run_eval(path, tmp_path / "run", retry_failed=True)
    assert len(bot.asked) == asked
    found = details(tmp_path / "run")
    assert {one.ended for one in found.values()} == {"in flight"}
    assert {one.validity for one in found.values()} == {"lost"}


def test_a_broken_conversation_begins_again_in_a_new_session(tmp_path: Path) -> None:
    bot = Bot()
    failed: list[object] = []

    def fail(body: dict[str, object]) -> bool:
        if body["turn"] == 3 and not failed:
            failed.append(body)
            return True
        return False

    bot.fail = fail
    with serving(bot) as url:
        path = write_eval(tmp_path, f"{url}/chat", count=1, session="reset")
        run_eval(path, tmp_path / "run")
    (one,) = details(tmp_path / "run").values()
    assert one.option == "passed"
    assert one.conversation is not None
    assert one.conversation.restarts == 1
    assert len({asked["session"] for asked in bot.asked}) == 2


def test_a_budget_ends_a_run_and_not_a_conversation(tmp_path: Path) -> None:
    bot = Bot()
    with serving(bot) as url:
        path = write_eval(tmp_path, f"{url}/chat", session="stateful")
        text = path.read_text()
        path.write_text(f"{text}budget: {{max_calls: 5}}\n")
        with pytest.raises(BudgetSpent):
            run_eval(path, tmp_path / "run")
        path.write_text(text)
        run_eval(path, tmp_path / "run")
    assert {one.option for one in details(tmp_path / "run").values()} == {"passed"}
    assert set(bot.worked.values()) == {1}


def test_a_conversation_has_limits_of_its_own(tmp_path: Path) -> None:
    with serving(Bot()) as url:
        path = write_eval(tmp_path, f"{url}/chat", count=1, more=", max_turns: 2")
        run_eval(path, tmp_path / "run")
    (one,) = details(tmp_path / "run").values()
    assert (one.ended, one.option, one.fault) == ("turn limit", "failed", "cannot tell")


def test_replay_says_the_same_and_marks_what_is_off_script(tmp_path: Path) -> None:
    bot = Bot()
    with serving(bot) as url:
        path = write_eval(tmp_path / "one", f"{url}/chat", count=2)
        run_eval(path, tmp_path / "run")
        again = tmp_path / "one" / "again.yaml"
        text = path.read_text().replace("scenarios.yaml", str(tmp_path / "run"))
        again.write_text(text.replace("user: rules", "user: replay"))
        run_eval(again, tmp_path / "same")
        one, two = held(tmp_path / "run"), held(tmp_path / "same")
        assert {name: first_difference(one[name], two[name]) for name in one} == dict.fromkeys(one)
        reply = bot._reply
        bot._reply = lambda body, state: (f"Well. {reply(body, state)[0]}", [])  # type: ignore[method-assign]
        run_eval(again, tmp_path / "other")
    for other in held(tmp_path / "other").values():
        mine = other.spoken_by("user")
        assert [turn.off_script for turn in mine] == [False, *[True] * (len(mine) - 1)]
        assert [turn.text for turn in mine] == [
            turn.text for turn in one["s0  1"].spoken_by("user")
        ] or (mine[0].text != one["s0  1"].turns[0].text)


def test_another_agent_goes_on_from_a_turn(tmp_path: Path) -> None:
    bot = Bot()
    with serving(bot) as url:
        path = write_eval(tmp_path / "one", f"{url}/chat", count=2)
        run_eval(path, tmp_path / "run")
        before = len(bot.asked)
        again = tmp_path / "one" / "again.yaml"
        text = path.read_text().replace("scenarios.yaml", str(tmp_path / "run"))
        again.write_text(text.replace("session: stateless", "from_turn: 3"))
        run_eval(again, tmp_path / "later")
    one, two = held(tmp_path / "run"), held(tmp_path / "later")
    for name, conversation in one.items():
        own = [turn.text for turn in two[name].turns]
        assert own[:5] == [turn.text for turn in conversation.turns][:5]
    assert min(body["turn"] for body in bot.asked[before:]) == 3
    with serving(bot) as url:
        again.write_text(text.replace("session: stateless", "session: stateful, from_turn: 3"))
        with pytest.raises(SetupError, match="stateless"):
            run_eval(again, tmp_path / "never")


def test_conversations_that_are_too_short_to_go_on_are_counted(tmp_path: Path) -> None:
    def row(id: str, messages: int, trial: int) -> str:
        said = [
            {"role": role, "content": f"{role} {number}"}
            for number in range(messages)
            for role in ("user", "assistant")
        ]
        return json.dumps({"task_id": id, "trial": trial, "reward": 0, "traj": said, "info": {}})

    rows = [row("long", 3, 0), row("short", 2, 0), row("later", 1, 0), row("later", 3, 1)]
    (tmp_path / "tau.json").write_text(f"[{', '.join(rows)}]")
    (tmp_path / "app.py").write_text("def chat(message):\n    return 'Bye.'\n")
    path = tmp_path / "eval.yaml"
    path.write_text(
        "data: tau.json\ntarget: {name: app, function: app.py:chat}\n"
        "judges: [{kind: conversation, user: rules, from_turn: 3, session: stateless}]\n"
    )
    done = adjudge("run", "eval.yaml", "--trust", "--run", "run", cwd=tmp_path)
    assert "1 row could not be judged" in done.stdout + done.stderr
    assert "it has only 2 user messages" in done.stdout + done.stderr
    assert set(held(tmp_path / "run")) == {"long  1", "later  1"}


def test_a_lost_recording_is_not_the_replaying_application_s_failure(tmp_path: Path) -> None:
    scenarios = [{"id": f"s{n}", "goal": f"Cancel {n}."} for n in range(3)]
    (tmp_path / "scenarios.json").write_text(json.dumps(scenarios))
    (tmp_path / "app.py").write_text(
        "def chat(message, turn):\n    return 'Which order?' if turn < 2 else 1 / 0\n"
    )
    path = tmp_path / "eval.yaml"
    path.write_text(
        "data: scenarios.json\ntarget: {name: app, function: app.py:chat, max_retries: 0}\n"
        "judges:\n  - {kind: conversation, user: rules}\n"
        "  - {kind: check, per: conversation, checks: [{words: {least: 1}}]}\n"
    )
    run_eval(path, tmp_path / "run")
    assert any("ZeroDivisionError" in reason for reason in Run(tmp_path / "run").report().reasons)
    # an application that works cannot end these conversations either
    (tmp_path / "well.py").write_text("def chat(message, turn):\n    return 'Which order?'\n")
    text = path.read_text().replace("scenarios.json", "run").replace("app.py", "well.py")
    path.write_text(text.replace("user: rules", "user: replay"))
    run_eval(path, tmp_path / "again")
    report = Run(tmp_path / "again").report()
    assert all("in the recording, which has no further message" in one for one in report.reasons)


def test_cassettes_are_judged_without_anybody(tmp_path: Path) -> None:
    with serving(Bot()) as url:
        run_eval(write_eval(tmp_path, f"{url}/chat", repeat=2), tmp_path / "run")
    assert write_cassettes(tmp_path / "run", tmp_path / "tapes") == 6
    stored = {f"{one.scenario.id} {one.trial}" for one in read_cassettes(tmp_path / "tapes")}
    assert len(stored) == 6
    path = tmp_path / "tapes.yaml"
    path.write_text("data: tapes\njudges: [{kind: conversation}]\n")
    run_eval(path, tmp_path / "again")
    one, two = details(tmp_path / "run"), details(tmp_path / "again")
    assert {own.option for own in two.values()} == {own.option for own in one.values()}
    assert len(two) == 6


def verify(folder: Path) -> tuple[int, str]:
    result = CliRunner().invoke(conversations, ["verify", str(folder)], standalone_mode=False)
    return result.return_value, result.output


def test_cassettes_have_the_verdicts_of_their_run(tmp_path: Path) -> None:
    """The verdict of another tool, of a model, and of a user who declines while leaving."""
    data = Path(__file__).parent / "dumps" / "scenario.events.jsonl"
    path = tmp_path / "eval.yaml"
    path.write_text(f"data: {data}\njudges: [{{kind: conversation}}]\n")
    run_eval(path, tmp_path / "run")
    write_cassettes(tmp_path / "run", tmp_path / "tapes")
    assert verify(tmp_path / "tapes")[0] == 0
    path.write_text("data: tapes\njudges: [{kind: conversation}]\n")
    run_eval(path, tmp_path / "again")
    before, again = details(tmp_path / "run"), details(tmp_path / "again")
    assert {name: one.option for name, one in again.items()} == {
        name: one.option for name, one in before.items()
    }
    scenario = {"id": "x", "goal": "Cancel the order 4711.", "expect": {"says": ["cancelled"]}}
    texts = ("Cancel the order 4711.", "Want a voucher?", "No, thanks.", "Want it later?")
    turns = [
        {"number": number, "speaker": "user" if number % 2 else "agent", "text": text}
        for number, text in enumerate(texts, 1)
    ]
    head = {"version": 1, "scenario": scenario, "ended": "user stopped", "parting": True}
    tape = tmp_path / f"x{ENDING}"

    def write(**golden: object) -> None:
        rows = [{**head, "golden": golden}, *turns]
        tape.write_text("\n".join(json.dumps(row) for row in rows))

    write(outcome="failed", fault="agent")
    assert verify(tape)[0] == 0
    write(outcome="passed", fault="nobody")
    assert verify(tape)[0] == 4
    write(outcome="passed", fault="nobody", by_model=True)
    assert verify(tape)[0] == 3
    assert "1 conversation was judged by a model" in verify(tape)[1]


def test_cassettes_of_similar_and_long_names_are_all_kept(tmp_path: Path) -> None:
    with serving(Bot()) as url:
        path = write_eval(tmp_path, f"{url}/chat", count=3)
        scenarios = tmp_path / "scenarios.yaml"
        names = {"id: s0": "id: a b", "id: s1": "id: A_b", "id: s2": f"id: {'я' * 150}"}
        text = scenarios.read_text()
        for old, new in names.items():
            text = text.replace(old, new)
        scenarios.write_text(text)
        run_eval(path, tmp_path / "run")
    for command in (["record", str(tmp_path / "run"), "--to", str(tmp_path / "tapes")],) * 2:
        said = CliRunner().invoke(conversations, command, standalone_mode=False).output
        assert said.startswith("3 cassettes in ")
        assert "other recording" not in said
    assert len({one.scenario.id for one in read_cassettes(tmp_path / "tapes")}) == 3
    (tmp_path / "tapes" / f"old{ENDING}").write_text("{}")
    said = CliRunner().invoke(conversations, command, standalone_mode=False).output
    assert "1 cassette of another recording" in said


def test_a_limit_in_dollars_needs_prices(tmp_path: Path) -> None:
    path = write_eval(tmp_path, "http://127.0.0.1:9/chat", count=1, more=", max_usd: 0.01")
    path.write_text(path.read_text().replace("user: rules", "user: user.py:ask"))
    (tmp_path / "user.py").write_text("def ask(prompt):\n    return 'Hi.'\n")
    with pytest.raises(SetupError, match="line 6: no price for model ask"):
        run_eval(path, tmp_path / "run")


def test_turns_are_no_trials(tmp_path: Path) -> None:
    with serving(Bot()) as url:
        path = write_eval(tmp_path, f"{url}/chat", repeat=2)
        text = path.read_text()
        path.write_text(f"{text}  - {{kind: check, checks: [{{contains: e}}], per: turn}}\n")
        run_eval(path, tmp_path / "run")
    tally = RepeatTally()
    for record in records_of(tmp_path / "run"):
        if record.judge == "checks" and record.status != "skipped":
            assert record.input["turn"]
            tally.add(record)
    assert tally.summary() == ()


def test_a_lost_conversation_counts_the_turns_that_it_had(tmp_path: Path) -> None:
    """It counted as many as a conversation may have, as trials of its scenario."""
    bot = Bot()
    bot.fail = lambda body: "4001" in str(body["messages"]) and body["turn"] > 2
    with serving(bot) as url:
        path = write_eval(tmp_path, f"{url}/chat", count=2)
        text = path.read_text().replace("timeout: 20", "timeout: 20, max_retries: 0")
        path.write_text(f"{text}  - {{kind: check, checks: [{{contains: e}}], per: turn}}\n")
        run_eval(path, tmp_path / "run")
    tally, lost = RepeatTally(), []
    for record in records_of(tmp_path / "run"):
        if record.judge == "checks":
            tally.add(record)
            lost += [record.id] if record.status == "failed" else []
    assert lost == ["s1 turn 1", "s1 turn 2", "s1 turn 3"]
    assert tally.summary() == ()


def test_changed_scenarios_are_not_compared(tmp_path: Path) -> None:
    with serving(Bot()) as url:
        path = write_eval(tmp_path, f"{url}/chat", count=2)
        run_eval(path, tmp_path / "one")
        scenarios = tmp_path / "scenarios.yaml"
        scenarios.write_text(scenarios.read_text().replace("cancelled", "refunded", 1))
        run_eval(path, tmp_path / "two")
    runs = [str(tmp_path / "one"), str(tmp_path / "two")]
    said = CliRunner().invoke(conversations, ["compare", *runs], standalone_mode=False).output
    assert "one 100%, two 100%: mean over 1 scenario " in said
    assert "1 scenario is left out, because it changed between the runs" in said


def test_a_target_is_needed(tmp_path: Path) -> None:
    path = write_eval(tmp_path, "http://127.0.0.1:9/chat")
    text = path.read_text()
    path.write_text("\n".join(line for line in text.splitlines() if "target" not in line))
    with pytest.raises(SetupError, match="an application to talk to"):
        run_eval(path, tmp_path / "run")


def test_a_scenario_without_a_script_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_eval(tmp_path, "http://127.0.0.1:9/chat", count=2)
    scenarios = tmp_path / "scenarios.yaml"
    scenarios.write_text(
        scenarios.read_text().replace("  unknown:", "  script: [Hi]\n  unknown:", 1)
    )
    path.write_text(path.read_text().replace("user: rules", "user: script"))
    with pytest.raises(SetupError, match=r"scenarios.yaml, scenario 2: s1 has no script"):
        run_eval(path, tmp_path / "run")
    monkeypatch.setattr("sys.argv", ["adjudge", "conversations", "check", str(scenarios)])
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr().out
    assert "scenario 2: s1 has no script" in shown
    assert "no problems" not in shown


def test_scenarios_are_not_replayed(tmp_path: Path) -> None:
    path = write_eval(tmp_path, "http://127.0.0.1:9/chat", count=1)
    path.write_text(path.read_text().replace("user: rules", "user: replay"))
    with pytest.raises(SetupError, match="scenarios, not conversations"):
        run_eval(path, tmp_path / "run")
    path.write_text(path.read_text().replace("user: replay", "user: rules, from_turn: 2"))
    with pytest.raises(SetupError, match="from_turn continues those of a run"):
        run_eval(path, tmp_path / "run")


def killed(path: Path, folder: Path, pick: random.Random, seconds: float) -> None:
    """Run an eval file in a process that is killed at a random moment."""
    root = Path(bot_script.__file__).parents[2]
    child = subprocess.Popen(
        [sys.executable, bot_script.__file__, str(path), str(folder)],
        env={**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{root}"},
        stderr=subprocess.DEVNULL,
    )
    try:
        child.wait(pick.uniform(0.3, 1.0) * seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@pytest.mark.parametrize("session", ["idempotent", "stateful", "stateless"])
def test_a_killed_run_goes_on_at_the_same_message(tmp_path: Path, session: str) -> None:
    """``ADJUDGE_KILLS`` says how often (``make test-reliability``: 50)."""
    bot, pick = Bot(), random.Random(session)
    bot.latency = 0.02
    place = "keeps" if session == "idempotent" else "chat"
    count = 4 if KILLS < 10 else 40
    with serving(bot) as url:
        path = write_eval(tmp_path, f"{url}/{place}", count=count, session=session)
        started = time.monotonic()
        killed(path, tmp_path / "whole", random.Random(0), 600)
        seconds = time.monotonic() - started
        whole, unbroken = held(tmp_path / "whole"), len(bot.asked)
        bot.asked.clear()
        bot.worked.clear()
        for _ in range(KILLS):
            killed(path, tmp_path / "run", pick, seconds if KILLS < 10 else min(seconds, 4.0))
        run_eval(path, tmp_path / "run")
    again = held(tmp_path / "run")
    assert again.keys() == whole.keys()
    sent = [str(one["turn_key"]) for one in bot.asked]
    if session == "idempotent":
        assert set(bot.worked.values()) == {1}  # no message acted twice
    if session == "stateful":
        assert len(set(sent)) == len(sent)  # none was even sent twice
        lost = [one for one in again.values() if one.ended == "in flight"]
        assert len(lost) <= KILLS * 16
    else:
        for name, conversation in whole.items():
            assert first_difference(conversation, again[name]) is None
        assert len(set(sent)) == unbroken
        assert len(sent) <= unbroken + KILLS * 16  # what was under way at a kill, at most


def test_topics_of_a_simulated_conversation_are_judged(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "import json\n\ndef ask(prompt):\n"
        "    topics = 'topic_change' in prompt\n"
        "    material = prompt.split('The material:')[-1]\n"
        "    is_new = 'yes' in material.rsplit('field=\"response\"', 1)[-1].casefold()\n"
        "    option = ('New topic' if is_new else 'Same topic') if topics else 'Resolved'\n"
        "    return json.dumps({'explanation': 'message 3', 'selected_option': option})\n"
    )
    with serving(Bot()) as url:
        path = write_eval(tmp_path, f"{url}/chat", count=1)
        judge = "  - {kind: direct, per: topic, models: model.py:ask, criteria: [topic_resolved]}\n"
        path.write_text(path.read_text() + judge)
        run_eval(path, tmp_path / "run")
    found = [one for one in records_of(tmp_path / "run") if one.criterion == "topic_resolved"]
    named = [str(one.id) for one in found if one.status == "scored"]
    assert named == [f"s0 topic {number}" for number in range(1, len(named) + 1)]
    assert len(named) > 1
    first, second = (str(one.fields["response"]) for one in found[:2])
    assert first.startswith("[1] user") and "yes" in second.splitlines()[0].casefold()
