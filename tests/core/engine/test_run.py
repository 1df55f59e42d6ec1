"""Runs: nothing is asked twice, nothing that was answered is lost, and no more is spent than was
allowed.
"""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from adjudge import (
    AspectCritic,
    DirectJudge,
    Instance,
    PairwiseJudge,
    QuantitativeCriteria,
    Reply,
    RunError,
    ScriptedModel,
    SetupError,
    Status,
)
from adjudge.core.aio import event_loop
from adjudge.core.domain.json_types import object_in
from adjudge.core.domain.message import Usage
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.run import Asker, RecordedVotes, RunSettings, open_recorded_run
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.layers.reply_store import ReplyStore
from adjudge.core.gateway.opener import open_model
from adjudge.core.ledger.file import FILE, connect, read_meta
from adjudge.core.ledger.ledger import Ledger
from adjudge.errors import BudgetSpent, RunStopped, Unavailable
from adjudge.messages import abridge
from adjudge.runs.folder import run_info
from adjudge.runs.stored_votes import KnownVotes
from support.asking import critic, marked, open_at, truth, wait_until
from support.exported import judgments
from support.fake_provider import HANGS, KEY, PROSE, FakeProvider, always, never

TEXTS = [f"text {number}" for number in range(20)]


def same(one: Any, two: Any) -> bool:
    return [result.to_dict() for result in one] == [result.to_dict() for result in two]


# -- nothing twice -----------------------------------------------------------------


def test_a_finished_run_asks_nothing_again(tmp_path: Path) -> None:
    model = ScriptedModel()
    first = AspectCritic("c", model, strictness=3).evaluate(TEXTS, run=tmp_path)
    again = AspectCritic("c", model, strictness=3).evaluate(TEXTS, run=tmp_path)
    assert len(model.requests) == 60
    assert same(first, again)


def test_a_run_that_is_said_to_be_complete_has_all_its_judgments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judgments are held back for a moment: who is killed before the folder is closed has them."""
    seen = []

    def look(ledger: Ledger) -> None:
        with connect(ledger.path, writable=False) as reader:
            (count,) = reader.execute("SELECT count(*) FROM judgments").fetchone()
            seen.append((read_meta(reader)["ended"], count))
        close(ledger)

    close = Ledger.close
    monkeypatch.setattr(Ledger, "close", look)
    AspectCritic("c", ScriptedModel()).evaluate(TEXTS, run=tmp_path)
    assert seen == [("complete", len(TEXTS))]


@pytest.mark.parametrize("fork_of", [None, "old"])
def test_a_new_run_says_at_once_how_it_is_resumed(tmp_path: Path, fork_of: str | None) -> None:
    """Whoever is killed before the first commit is resumed, and a fork not as what it was forked
    from.
    """

    async def kept(folder: str, resume: str, fork_of: str | None = None) -> object:
        other = fork_of and tmp_path / fork_of
        run = RunSettings(tmp_path / folder, fork_of=other, facts={"resume": resume})
        async with open_recorded_run(run, {}, None):
            return run_info(tmp_path / folder).facts["resume"]

    asyncio.run(kept("old", "old.yaml"))
    assert asyncio.run(kept("new", "new.yaml", fork_of)) == "new.yaml"


JUDGES: dict[str, Callable[[Any], Any]] = {
    "direct": lambda model: DirectJudge(
        model, self_consistency=2, check_positional_bias=True, generate_feedback=True
    ),
    "pairwise": lambda model: PairwiseJudge(model, contests="pairs", check_positional_bias=True),
    "persona": lambda model: DirectJudge(model, generate_synthetic_persona=True),
}


@pytest.mark.parametrize("kind", ["direct", "pairwise", "persona"])
def test_every_kind_of_judge_is_gone_on_with(tmp_path: Path, kind: str) -> None:
    items: Any = [["a", "b", "c"], ["d", "e", "f"]] if kind == "pairwise" else ["a", "b"]
    model = ScriptedModel()
    first = JUDGES[kind](model).evaluate(items, "Is it good?", run=tmp_path)
    asked = len(model.requests)
    again = JUDGES[kind](model).evaluate(items, "Is it good?", run=tmp_path)
    assert len(model.requests) == asked
    assert same(first, again)
    assert first[0].votes[0].ballot == again[0].votes[0].ballot


def test_several_criteria_are_one_run(tmp_path: Path) -> None:
    model = ScriptedModel()
    first = DirectJudge(model).evaluate_multi_criteria(
        TEXTS, ["Is it short?", "Is it kind?"], run=tmp_path
    )
    again = DirectJudge(model).evaluate_multi_criteria(
        TEXTS, ["Is it short?", "Is it kind?"], run=tmp_path
    )
    assert len(model.requests) == 40
    assert same(first, again)
    with pytest.raises(RunError, match="another configuration"):
        DirectJudge(model).evaluate_multi_criteria(
            TEXTS, ["Is it short?", "Is it rude?"], run=tmp_path
        )


def test_rows_of_equal_content_are_judged_once_and_reported_each(tmp_path: Path) -> None:
    model = ScriptedModel()
    items = [Instance({"response": "the same"}, id=name) for name in "abc"]
    results = AspectCritic("c", model).evaluate(items, run=tmp_path)
    assert len(model.requests) == 1
    assert [result.instance.id for result in results] == ["a", "b", "c"]
    assert [row["id"] for row in judgments(tmp_path)] == ["a", "b", "c"]


def test_more_rows_ask_only_for_what_is_new(tmp_path: Path) -> None:
    model = ScriptedModel()
    AspectCritic("c", model).evaluate(TEXTS[:15], run=tmp_path)
    AspectCritic("c", model).evaluate(["new", *TEXTS], run=tmp_path)
    assert len(model.requests) == 21
    assert [row["fields"]["response"] for row in judgments(tmp_path)] == ["new", *TEXTS]


def test_rows_that_went_are_forgotten_but_their_votes_are_kept(tmp_path: Path) -> None:
    model = ScriptedModel()
    AspectCritic("c", model).evaluate(TEXTS, run=tmp_path)
    AspectCritic("c", model).evaluate(TEXTS[:5], run=tmp_path)
    assert len(list(judgments(tmp_path))) == 5
    AspectCritic("c", model).evaluate(TEXTS, run=tmp_path)
    assert len(model.requests) == 20


def test_failed_calls_are_asked_again_and_unreadable_replies_only_on_request(
    tmp_path: Path,
) -> None:
    said: dict[str, Any] = {"reply": Unavailable("down")}
    model = ScriptedModel(lambda request: said["reply"])

    def judged(**options: Any) -> list[Status]:
        opened = open_model(model, max_retries=0)
        results = AspectCritic("c", opened, max_repairs=0).evaluate(
            ["x"], run=RunSettings(tmp_path, **options)
        )
        return [result.status for result in results]

    assert judged() == [Status.FAILED]
    said["reply"] = "what?"
    assert judged() == [Status.FAILED]
    said["reply"] = "PASS"
    assert judged() == [Status.FAILED]
    assert len(model.requests) == 2
    assert judged(retry_failed=True) == [Status.SCORED]
    assert [row["status"] for row in judgments(tmp_path)] == ["scored"]


def test_only_rows_that_failed_for_one_reason_are_asked_again(tmp_path: Path) -> None:
    texts = ["kept", "odd", "down"]
    replies: dict[str, Any] = {"odd": "what?", "down": Unavailable("down")}
    model = ScriptedModel(
        lambda request: next(
            (reply for text, reply in replies.items() if text in request.prompt.text), "PASS"
        )
    )

    def judged(**options: Any) -> tuple[list[Status], int]:
        """Return the statuses, and how many requests it took."""
        before, opened = len(model.requests), open_model(model, max_retries=0)
        judge = AspectCritic("c", opened, max_repairs=0)
        items = [judge.prepare(Instance({"response": text})) for text in texts]
        calls = judge.estimate(items, KnownVotes(tmp_path, **options)).calls
        results = judge.evaluate(texts, run=RunSettings(tmp_path, **options))
        asked = len(model.requests) - before
        assert calls == (asked, asked)
        return [result.status for result in results], asked

    assert judged()[0] == [Status.SCORED, Status.FAILED, Status.FAILED]
    _, odd, down = (row["reason"] for row in judgments(tmp_path))
    replies.clear()
    assert judged(retry_reason="another") == ([Status.SCORED, Status.FAILED, Status.FAILED], 0)
    assert judged(retry_reason=abridge(down)) == (
        [Status.SCORED, Status.FAILED, Status.SCORED],
        1,
    )
    assert judged(retry_reason=odd) == ([Status.SCORED] * 3, 1)


def test_a_run_with_other_settings_is_refused_or_forked(tmp_path: Path) -> None:
    model = ScriptedModel()
    AspectCritic("c", model, strictness=1).evaluate(TEXTS, run=tmp_path / "one")
    with pytest.raises(RunError, match=r"strictness: 1 → 2"):
        AspectCritic("c", model, strictness=2, temperature=0).evaluate(TEXTS, run=tmp_path / "one")
    forked = RunSettings(tmp_path / "two", fork_of=tmp_path / "one")
    AspectCritic("c", model, strictness=2, temperature=0).evaluate(TEXTS, run=forked)
    assert len(model.requests) == 40


def test_the_run_says_how_it_was_made(tmp_path: Path) -> None:
    AspectCritic("c", "scripted", strictness=2).evaluate(["x"], run=tmp_path)
    made = run_info(tmp_path).judge_configurations["AspectCritic"]
    assert made.settings["definition"] == "c"
    assert object_in(made.models["scripted"])["identity"] == "scripted"
    assert len(str(made.templates["aspect.jinja"])) == 64
    assert made.versions.keys() == {"adjudge", "python", "reader", "pooling"}


def test_keys_are_not_in_the_ledger(tmp_path: Path, provider: FakeProvider) -> None:
    critic(open_at(provider)).evaluate(marked(3), run=tmp_path)
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


# -- budgets -----------------------------------------------------------------------


def test_calls_are_limited_exactly_and_the_rest_is_asked_later(tmp_path: Path) -> None:
    model = ScriptedModel()
    with pytest.raises(BudgetSpent, match="max_calls=7"):
        AspectCritic("c", model).evaluate(TEXTS, run=tmp_path, budget=Budget(max_calls=7))
    assert len(model.requests) == 7
    assert run_info(tmp_path).votes == 7
    assert "max_calls" in run_info(tmp_path).state
    with pytest.raises(BudgetSpent):  # what was spent before counts
        AspectCritic("c", model).evaluate(TEXTS, run=tmp_path, budget=Budget(max_calls=10))
    assert len(model.requests) == 10
    results = AspectCritic("c", model).evaluate(TEXTS, run=tmp_path)
    assert len(model.requests) == 20
    assert all(result.score == 1.0 for result in results)
    assert run_info(tmp_path).state == "complete"


def test_tokens_and_dollars_are_not_overspent(tmp_path: Path) -> None:
    reply = Reply("PASS", usage=Usage(1, 1000, 100))
    priced = ScriptedModel(lambda request: reply, name="openai/gpt-4o-mini")
    each = 1000 * 0.15e-6 + 100 * 0.6e-6
    with pytest.raises(BudgetSpent, match="max_usd"):
        AspectCritic("c", open_model(priced, max_concurrency=1)).evaluate(
            TEXTS, budget=Budget(max_usd=each * 5.5)
        )
    assert len(priced.requests) == 5
    with pytest.raises(BudgetSpent, match="max_tokens"):
        AspectCritic("c", open_model(priced, max_concurrency=1)).evaluate(
            TEXTS, budget=Budget(max_tokens=5400)
        )
    assert len(priced.requests) == 9


def test_dollars_cannot_be_limited_where_a_price_is_not_known(tmp_path: Path) -> None:
    model = ScriptedModel(name="acme/unheard-of")
    with pytest.raises(SetupError, match="no price for model acme/unheard-of"):
        AspectCritic("c", model).evaluate(TEXTS, run=tmp_path, budget=Budget(max_usd=1))
    assert model.requests == []


def test_a_spent_budget_is_no_failed_vote() -> None:
    with pytest.raises(BudgetSpent):
        AspectCritic("c", "scripted").evaluate("x", budget=Budget(max_calls=0))


@pytest.mark.parametrize(
    "limit", [{"max_usd": -1}, {"max_calls": -1}, {"max_tokens": float("nan")}]
)
def test_a_budget_is_no_less_than_nothing(limit: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match=next(iter(limit))):
        Budget(**limit)


# -- stopping ----------------------------------------------------------------------


def test_a_stop_waits_for_what_is_under_way_and_keeps_it(
    tmp_path: Path, provider: FakeProvider
) -> None:
    provider.latency = 0.3
    texts = marked(60)

    def stop() -> None:
        wait_until(lambda: len(provider.requests) >= 4)
        for each in event_loop._stops:
            event_loop.home_loop().call_soon_threadsafe(each)

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(RunStopped, match="answers so far are in"):
        critic(open_at(provider, max_concurrency=4), strictness=3).evaluate(texts, run=tmp_path)
    stopper.join()
    asked = len(provider.requests)
    assert asked < 20
    assert run_info(tmp_path).votes == asked
    results = critic(open_at(provider, max_concurrency=20), strictness=3).evaluate(
        texts, run=tmp_path
    )
    assert len(provider.requests) == 180
    assert [result.verdict for result in results] == [truth(text) for text in texts]


CHILD = """
import sys
from adjudge import AspectCritic, open_model
url, folder, key = sys.argv[1:]
texts = [f"REC-{number:05}-{'N' if number % 3 == 0 else 'Y'}" for number in range(60)]
model = open_model("openai/gpt-4o-mini", base_url=url, api_key=key, max_concurrency=4)
AspectCritic("The mark must end in Y.", model).evaluate(texts, run=folder)
"""


@pytest.mark.parametrize("interrupts", [1, 2])
def test_one_interrupt_ends_gently_and_two_at_once(
    tmp_path: Path, provider: FakeProvider, interrupts: int
) -> None:
    provider.latency = 2.0  # time for the interrupts to arrive on a busy machine
    command = [sys.executable, "-c", CHILD, provider.base_url("openai"), str(tmp_path / "run"), KEY]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert wait_until(lambda: len(provider.requests) >= 4)
    for _ in range(interrupts):
        child.send_signal(signal.SIGINT)
        time.sleep(0.15)
    _, complaint = child.communicate(timeout=300)
    assert child.returncode != 0
    asked = len(provider.requests)
    assert asked <= 8
    assert (
        run_info(tmp_path / "run").votes == asked
        if interrupts == 1
        else run_info(tmp_path / "run").votes <= asked
    )
    assert ("RunStopped" if interrupts == 1 else "KeyboardInterrupt") in complaint
    provider.latency = 0.0
    stored = run_info(tmp_path / "run").votes
    model = open_at(provider, max_concurrency=4)
    results = critic(model).evaluate(marked(60), run=tmp_path / "run")
    assert len(provider.requests) == asked + 60 - stored
    assert all(result.status is Status.SCORED for result in results)


# -- flow --------------------------------------------------------------------------


def test_a_stalled_model_does_not_hold_the_others(tmp_path: Path, provider: FakeProvider) -> None:
    """One of two models never answers: the other is asked about all rows meanwhile."""
    with FakeProvider() as stalled:
        stalled.faults = lambda record, attempt: HANGS
        models = [
            open_at(provider, max_concurrency=4),
            open_at(stalled, "mistral", max_concurrency=4, timeout=600),
        ]

        def judged() -> None:
            with suppress(RunStopped):
                critic(models).evaluate(marked(300), run=tmp_path)

        judging = threading.Thread(target=judged, daemon=True)
        judging.start()
        assert wait_until(lambda: len(provider.requests) == 300)
        assert wait_until(lambda: run_info(tmp_path).votes >= 300)
        for each in event_loop._stops:
            event_loop.home_loop().call_soon_threadsafe(each)
    judging.join(120)  # it waited for the stalled ones, which end with their server
    assert not judging.is_alive()


def test_rows_are_read_as_they_are_needed(tmp_path: Path) -> None:
    """The reader is held back: no more rows are read than may be under way."""
    read = under_way = 0
    most = 0

    def rows() -> Any:
        nonlocal read
        for number in range(600):
            read += 1
            yield Instance({"response": f"text {number}"})

    seen = 0

    def on_result(number: int, result: object) -> None:
        nonlocal seen, most
        seen += 1
        most = max(most, read - seen)

    judge = AspectCritic("c", open_model(ScriptedModel(), max_concurrency=8))
    event_loop.run(judge.judge_stream(rows(), on_result, run=tmp_path))
    assert seen == 600
    assert most <= judge.max_in_flight == 16
    assert under_way == 0


def test_an_error_of_the_reader_ends_the_run_and_keeps_what_was_answered(tmp_path: Path) -> None:
    def rows() -> Any:
        yield from (Instance({"response": f"text {number}"}) for number in range(30))
        raise RunError("rows.csv, line 31: not a row")

    model = ScriptedModel()
    with pytest.raises(RunError, match="line 31"):
        event_loop.run(
            AspectCritic("c", model).judge_stream(rows(), lambda number, result: None, run=tmp_path)
        )
    assert run_info(tmp_path).votes > 0
    AspectCritic("c", model).evaluate([f"text {number}" for number in range(30)], run=tmp_path)
    assert len(model.requests) <= 60 - run_info(tmp_path).votes + 30


def test_numbers_are_kept_as_well(tmp_path: Path) -> None:
    model = ScriptedModel(
        ['{"explanation": "so", "score": 3}', '{"explanation": "so", "score": 4.5}']
    )
    criteria = QuantitativeCriteria("How good?", model, num_samples=2)
    first = asyncio.run(criteria.evaluate("x = 1", run=tmp_path))
    again = asyncio.run(
        QuantitativeCriteria("How good?", model, num_samples=2).evaluate("x = 1", run=tmp_path)
    )
    assert len(model.requests) == 2
    assert first.to_dict() == again.to_dict()
    assert sorted(again.numbers) == [3.0, 4.5]


# -- what a review found -----------------------------------------------------------


def test_a_row_whose_failed_call_was_mended_is_stored_anew(tmp_path: Path) -> None:
    down = {"b": True}

    def says(request: Any) -> Any:
        return Unavailable("down") if down["b"] else '{"selected_option": "FAIL"}'

    def judged() -> Any:
        models: list[Any] = [
            ScriptedModel(name="a"),
            open_model(ScriptedModel(says, name="b"), max_retries=0),
        ]
        return AspectCritic("c", models).evaluate(["x"], run=tmp_path)[0]

    assert judged().score == 1.0
    down["b"] = False
    assert judged().score == 0.5
    (row,) = judgments(tmp_path)
    assert (row["score"], row["excluded_models"]) == (0.5, {})


def test_a_fork_makes_its_judgments_anew(tmp_path: Path) -> None:
    said = ["PASS", "what?"]
    AspectCritic("c", ScriptedModel(said), strictness=2, max_repairs=0).evaluate(
        ["x"], run=tmp_path / "one"
    )
    stricter = AspectCritic("c", ScriptedModel(said), strictness=2, max_repairs=0, min_valid=2)
    assert (
        stricter.evaluate(["x"], run=RunSettings(tmp_path / "two", fork_of=tmp_path / "one"))[
            0
        ].status
        is Status.FAILED
    )
    assert [row["status"] for row in judgments(tmp_path / "two")] == ["failed"]


def test_one_name_at_two_servers_is_two_models(tmp_path: Path, provider: FakeProvider) -> None:
    with FakeProvider() as other:
        critic(open_at(provider)).evaluate(marked(3), run=tmp_path / "one")
        critic(open_at(other)).evaluate(
            marked(3), run=RunSettings(tmp_path / "two", fork_of=tmp_path / "one")
        )
        assert (len(provider.requests), len(other.requests)) == (3, 3)


def test_calls_that_failed_count_after_an_interruption_too(tmp_path: Path) -> None:
    asked = 0

    def says(request: Any) -> Any:
        nonlocal asked
        asked += 1
        return Unavailable("down") if asked % 2 else "PASS"

    def judged() -> None:
        model = open_model(ScriptedModel(says), max_retries=3, max_concurrency=1)
        with pytest.raises(BudgetSpent):
            AspectCritic("c", model).evaluate(TEXTS, run=tmp_path, budget=Budget(max_calls=8))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adjudge.core.gateway.layers.retry._FIRST_WAIT", 0.001)
        for _ in range(3):
            judged()
    assert asked == 8


def test_one_large_row_does_not_stop_a_run_that_fits(tmp_path: Path) -> None:
    model = ScriptedModel(
        lambda request: Reply("PASS", usage=Usage(1, len(request.prompt.text) // 4, 20))
    )
    texts = ["x" * 80_000, *(f"short {number}" for number in range(200))]
    AspectCritic("c", open_model(model, max_concurrency=32)).evaluate(
        texts, budget=Budget(max_tokens=110_000)
    )
    assert len(model.requests) == 201


def test_a_stop_does_not_wait_for_the_pace(tmp_path: Path) -> None:
    model = open_model(ScriptedModel(), requests_per_minute=1, max_concurrency=8)
    others = len(event_loop._stops)

    def stop() -> None:
        wait_until(lambda: len(event_loop._stops) > others)
        time.sleep(0.2)
        event_loop.home_loop().call_soon_threadsafe(event_loop._stops[-1])

    stopper = threading.Thread(target=stop)
    stopper.start()
    started = time.monotonic()
    with pytest.raises(RunStopped):
        AspectCritic("c", model).evaluate(TEXTS, run=tmp_path)
    stopper.join()
    assert time.monotonic() - started < 50


def test_an_error_of_the_reader_waits_for_what_was_sent(
    tmp_path: Path, provider: FakeProvider
) -> None:
    provider.latency = 0.2

    def rows() -> Any:
        yield from (Instance({"response": text}) for text in marked(5))
        raise RunError("rows.csv, line 6: not a row")

    with pytest.raises(RunError, match="line 6"):
        event_loop.run(
            critic(open_at(provider)).judge_stream(
                rows(), lambda number, result: None, run=tmp_path
            )
        )
    assert run_info(tmp_path).votes == len(provider.requests) == 5


def test_a_reply_that_cannot_be_read_is_not_kept_in_the_cache(
    tmp_path: Path, provider: FakeProvider
) -> None:
    store = ReplyStore(tmp_path / "cache")
    provider.faults = always(PROSE)
    critic(open_at(provider, cache=store), max_repairs=1).evaluate(marked(1))
    assert len(provider.requests) == 2
    provider.faults = never
    (result,) = critic(open_at(provider, cache=store), max_repairs=1).evaluate(marked(1))
    assert result.status is Status.SCORED


# -- what mutants showed -----------------------------------------------------------


def test_a_place_is_held_until_its_vote_is_on_the_disk(
    tmp_path: Path, provider: FakeProvider
) -> None:
    """While the ledger cannot be written, no more is asked than a kill may lose."""
    provider.latency = 0.05
    model = open_at(provider, max_concurrency=4)
    judging = threading.Thread(target=lambda: critic(model).evaluate(marked(60), run=tmp_path))
    judging.start()
    assert wait_until(lambda: len(provider.requests) >= 8)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        (stored,) = other.execute("SELECT count(*) FROM votes").fetchone()
        assert wait_until(lambda: len(provider.requests) >= stored + 4)
        time.sleep(0.5)
        asked = len(provider.requests)
        other.execute("ROLLBACK")
    judging.join(120)
    assert asked == stored + 4
    assert run_info(tmp_path).votes == 60


@pytest.mark.parametrize("who", ["the first to ask", "who asked after it"])
def test_who_stops_waiting_for_a_shared_question_does_not_take_it_from_the_others(
    tmp_path: Path, who: str
) -> None:
    async def scenario() -> tuple[Vote, bool]:
        answered = asyncio.Event()

        async def slow(prompt: str) -> str:
            await answered.wait()
            return "PASS"

        async with votes_of(AspectCritic("c", slow), tmp_path) as (answers, ballot):
            two = [asyncio.create_task(answers.answer(ballot)) for _ in range(2)]
            gone, other = two if who == "the first to ask" else reversed(two)
            for _ in range(5):
                await asyncio.sleep(0)
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone
            answered.set()
            return await other, gone.cancelled()

    vote, gone = event_loop.run(scenario())
    assert gone
    assert vote.valid
    assert run_info(tmp_path).votes == 1


def test_an_answer_whose_asker_left_before_it_was_on_the_disk_is_not_paid_for_again(
    tmp_path: Path,
) -> None:
    asked = []

    async def scenario() -> Vote:
        async def answer(prompt: str) -> str:
            asked.append(prompt)
            other.execute("BEGIN IMMEDIATE")  # so that the commit takes a while
            return "PASS"

        async with votes_of(AspectCritic("c", answer), tmp_path) as (answers, ballot):
            with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
                first, second = (asyncio.create_task(answers.answer(ballot)) for _ in range(2))
                await asyncio.sleep(0.1)
                first.cancel()
                await asyncio.sleep(0.1)
                other.execute("ROLLBACK")
                return await second

    assert event_loop.run(scenario()).valid
    assert len(asked) == 1


def test_an_answer_that_came_since_it_was_looked_for_is_not_asked_for_again(tmp_path: Path) -> None:
    model = ScriptedModel()

    async def scenario() -> tuple[Vote, Vote]:
        async with votes_of(AspectCritic("c", model), tmp_path) as (answers, ballot):
            assert answers.recall([ballot]) == [None]
            return await answers.answer(ballot), await answers.answer(ballot)

    first, second = event_loop.run(scenario())
    assert first == second
    assert len(model.requests) == 1


def test_who_waits_for_a_question_whose_answer_cannot_be_kept_is_told_so_and_asks_nobody(
    tmp_path: Path,
) -> None:
    model, told = ScriptedModel(), []

    async def scenario() -> None:
        async with votes_of(AspectCritic("c", model), tmp_path) as (answers, ballot):
            with closing(sqlite3.connect(tmp_path / FILE)) as other:
                other.execute(
                    "CREATE TRIGGER no BEFORE INSERT ON votes BEGIN SELECT RAISE(ABORT, 'no'); END"
                )
            told.extend(
                await asyncio.gather(
                    *(answers.answer(ballot) for _ in range(3)), return_exceptions=True
                )
            )

    with pytest.raises(RunError):
        event_loop.run(scenario())
    assert [type(one) for one in told] == [RunError] * 3
    assert len(model.requests) == 1


@asynccontextmanager
async def votes_of(
    judge: AspectCritic, folder: Path
) -> AsyncIterator[tuple[RecordedVotes, Ballot]]:
    """Who answers the judge's ballots in a run, and one of them."""
    asker = Asker("c", judge.ask, judge.vote_key, {}, judge.configuration)
    async with open_recorded_run(RunSettings(folder), {"c": asker.configuration()}, None) as run:
        (ballot,) = judge.plan(judge.prepare("x"), ())
        yield RecordedVotes(run, asker), ballot


def test_the_latency_of_a_repaired_vote_is_that_of_all_its_replies() -> None:
    said = [Reply("what?", latency=1.5), Reply("well?", latency=0.25), Reply("PASS", latency=2.0)]
    (vote,) = AspectCritic("c", ScriptedModel(said)).evaluate("x").votes
    assert (vote.repairs, vote.latency) == (2, 3.75)


def test_another_judge_is_refused_in_one_line_that_names_both(tmp_path: Path) -> None:
    AspectCritic("It gives a year.", models=ScriptedModel()).evaluate(["x"], run=tmp_path / "run")
    with pytest.raises(RunError) as refused:
        DirectJudge(ScriptedModel()).evaluate(["x"], "Is it?", run=tmp_path / "run")
    told = "configuration (judges.AspectCritic was removed; judges.DirectJudge was added): restore"
    assert told in str(refused.value)
