"""One model in scripts, threads, event loops and processes, and what is left behind when one of
them goes.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from adjudge.core.aio import event_loop
from adjudge.core.gateway.opener import open_model
from support import scripts
from support.asking import ask, critic, marked, open_at, truth, wait_until
from support.fake_provider import HANGS, FakeProvider, always

posix_only = pytest.mark.skipif(
    sys.platform == "win32", reason="this system has neither fork nor alarms"
)


def left_behind() -> set[str]:
    """What still runs on the home loop."""

    async def others() -> set[str]:
        return {
            str(task.get_coro())
            for task in asyncio.all_tasks()
            if task is not asyncio.current_task()
        }

    return asyncio.run_coroutine_threadsafe(others(), event_loop.home_loop()).result(60)


def nothing_is_left_behind() -> bool:
    return wait_until(lambda: not left_behind())


# -- where it can be called ------------------------------------------------------------


def test_a_sync_call_works_in_a_script(provider: FakeProvider) -> None:
    assert critic(open_at(provider)).evaluate("REC-00001-N").verdict == "FAIL"


def test_a_sync_call_works_in_a_thread(provider: FakeProvider) -> None:
    with ThreadPoolExecutor(1) as thread:
        assert (
            thread.submit(critic(open_at(provider)).evaluate, "REC-00001-N").result(60).verdict
            == "FAIL"
        )


def test_a_sync_call_works_inside_a_running_event_loop(provider: FakeProvider) -> None:
    async def notebook() -> str | None:
        return critic(open_at(provider)).evaluate("REC-00001-N").verdict

    assert asyncio.run(notebook()) == "FAIL"


def test_an_async_call_works_and_leaves_the_callers_loop_free(provider: FakeProvider) -> None:
    provider.latency = 0.1

    async def main() -> tuple[str | None, int]:
        ticks = 0
        judging = asyncio.create_task(critic(open_at(provider)).aevaluate("REC-00001-N"))
        while not judging.done():
            ticks += 1
            await asyncio.sleep(0.005)
        return (await judging).verdict, ticks

    verdict, ticks = asyncio.run(main())
    assert verdict == "FAIL"
    assert ticks > 3


def test_one_model_is_shared_by_many_threads_at_once(provider: FakeProvider) -> None:
    shared = critic(open_at(provider))
    with ThreadPoolExecutor(8) as threads:
        results = list(
            threads.map(
                lambda _: [result.verdict for result in shared.evaluate(marked(10))], range(8)
            )
        )
    assert results == [[truth(text) for text in marked(10)]] * 8


def test_one_model_is_shared_by_many_event_loops_at_once(provider: FakeProvider) -> None:
    shared = critic(open_at(provider))

    def loop_of_its_own(_: int) -> list[str | None]:
        return [result.verdict for result in asyncio.run(shared.aevaluate(marked(10)))]

    with ThreadPoolExecutor(6) as threads:
        assert (
            list(threads.map(loop_of_its_own, range(6)))
            == [[truth(text) for text in marked(10)]] * 6
        )


def test_one_model_serves_one_event_loop_after_the_other(provider: FakeProvider) -> None:
    model = open_at(provider)
    assert all("PASS" in ask(model).text for _ in range(3))


def test_an_error_reaches_the_caller_as_it_is() -> None:
    async def fails() -> None:
        raise LookupError("this one")

    with pytest.raises(LookupError, match="this one"):
        event_loop.run(fails())
    with pytest.raises(LookupError, match="this one"):
        asyncio.run(event_loop.visit(fails()))


# -- cancelling ----------------------------------------------------------------------


def test_cancelling_leaves_no_task_and_no_connection_behind(provider: FakeProvider) -> None:
    judge = critic(open_at(provider, timeout=60, max_concurrency=4), strictness=2)
    judge.evaluate(marked(1))  # a model that has answered is asked at full width
    provider.faults, asked = always(HANGS), len(provider.requests)

    async def main() -> None:
        judging = asyncio.create_task(judge.aevaluate(marked(20)))
        while len(provider.requests) < asked + 4:
            await asyncio.sleep(0.005)
        judging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await judging

    asyncio.run(main())
    assert nothing_is_left_behind()
    assert wait_until(lambda: provider.disconnects == 4)
    assert len(provider.requests) == asked + 4, "nobody who waited for a place was let in"


def test_a_time_limit_around_a_judgment_is_kept(provider: FakeProvider) -> None:
    provider.faults = always(HANGS)

    async def main() -> None:
        async with asyncio.timeout(0.2):
            await critic(open_at(provider, timeout=60)).aevaluate(marked(5))

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert nothing_is_left_behind()


def test_after_a_cancelled_batch_the_model_is_as_good_as_new(provider: FakeProvider) -> None:
    provider.faults = lambda record, attempt: HANGS if attempt == 0 else None
    judge = critic(open_at(provider, timeout=60, max_concurrency=3))

    async def main() -> None:
        judging = asyncio.create_task(judge.aevaluate(marked(6)))
        while len(provider.requests) < 3:
            await asyncio.sleep(0.005)
        judging.cancel()

    asyncio.run(main())
    provider.faults = always(None)  # type: ignore[arg-type]
    assert [result.verdict for result in judge.evaluate(marked(12))] == [
        truth(text) for text in marked(12)
    ]
    assert judge.panel["openai/gpt-4o-mini"].inner.inner.inner.gate.inside == 0  # type: ignore[attr-defined]


def test_cancelling_reaches_an_async_function_on_the_callers_loop() -> None:
    ended = threading.Event()

    async def hangs(prompt: str) -> str:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return "PASS"

    async def main() -> None:
        async with asyncio.timeout(0.1):
            await critic(hangs).aevaluate("x")

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert ended.wait(60)
    assert nothing_is_left_behind()


# -- interrupting --------------------------------------------------------------------


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Ctrl-C, as the main thread feels it."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@posix_only
def test_an_interrupt_stops_the_batch_before_it_is_raised(provider: FakeProvider) -> None:
    provider.faults = always(HANGS)
    judge = critic(open_at(provider, timeout=60))
    began = time.monotonic()
    with interrupted_after(0.3), pytest.raises(KeyboardInterrupt):
        judge.evaluate(marked(100))
    assert time.monotonic() - began < 30
    assert not left_behind()


@posix_only
def test_an_interrupt_that_the_work_outlives_ends_the_caller_unless_somebody_was_told() -> None:
    """Else Ctrl-C in a loop of short runs would only ever end one that is over."""

    async def ends_in_good_order() -> int:
        await stopped.wait()
        return 1

    stopped = asyncio.Event()
    with (
        interrupted_after(0.1),
        event_loop.stoppable(stopped.set),
        pytest.raises(KeyboardInterrupt),
    ):
        event_loop.run(ends_in_good_order())
    stopped, told = asyncio.Event(), []
    with (
        interrupted_after(0.1),
        event_loop.stoppable(stopped.set),
        event_loop.stopping_told(lambda: told.append(1)),
    ):
        assert event_loop.run(ends_in_good_order()) == 1
    assert told == [1]


@posix_only
def test_an_interrupt_before_the_work_has_begun_is_as_prompt() -> None:
    busy = threading.Event()
    event_loop.home_loop().call_soon_threadsafe(busy.wait, 20)
    threading.Timer(0.5, busy.set).start()
    began = time.monotonic()
    with interrupted_after(0.1), pytest.raises(KeyboardInterrupt):
        critic("scripted").evaluate(marked(3))
    assert time.monotonic() - began < 30
    assert not left_behind()


@posix_only
@pytest.mark.parametrize(
    "call",
    ["critic(m).evaluate(texts)", "asyncio.run(critic(m).aevaluate(texts))"],
    ids=["sync", "async"],
)
def test_ctrl_c_ends_a_batch_promptly_and_leaves_nothing(provider: FakeProvider, call: str) -> None:
    provider.faults = lambda record, attempt: HANGS if record else None
    process = scripts.start(
        f"""
        m = model()
        texts = [f"REC-{{number:05}}-Y" for number in range(200)]
        critic(m).evaluate(texts[0])
        try:
            {call}
        except KeyboardInterrupt:
            end = time.monotonic() + 20
            while asyncio.all_tasks(event_loop.home_loop()) and time.monotonic() < end:
                time.sleep(0.05)
            print("interrupted, tasks:", len(asyncio.all_tasks(event_loop.home_loop())))
        """,
        provider,
    )
    assert wait_until(lambda: len(provider.requests) >= 33)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    code, out, err = scripts.finish(process)
    assert time.monotonic() - began < 60
    assert (code, out, err) == (0, "interrupted, tasks: 0\n", "")
    assert wait_until(lambda: provider.disconnects == 32)


@posix_only
def test_ctrl_c_does_not_wait_for_a_sync_function_that_hangs(provider: FakeProvider) -> None:
    process = scripts.start(
        """
        def hangs(prompt):
            print("called", flush=True)
            time.sleep(600)
        try:
            critic(hangs).evaluate("x")
        except KeyboardInterrupt:
            print("interrupted")
        """,
        provider,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "called\n"
    process.send_signal(signal.SIGINT)
    assert scripts.finish(process, 120) == (0, "interrupted\n", "")


# -- leaving -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "print(critic(model()).evaluate('REC-00001-N').verdict)",
        "print(asyncio.run(critic(model()).aevaluate('REC-00001-N')).verdict)",
        (
            "m = model(); threading.Thread(target=lambda: "
            "print(critic(m).evaluate('REC-00001-N').verdict)).start()"
        ),
    ],
    ids=["sync", "async", "thread"],
)
def test_a_program_ends_without_a_word_about_open_connections(
    provider: FakeProvider, source: str
) -> None:
    assert scripts.run(source, provider) == (0, "FAIL\n", "")


def test_a_program_may_end_while_a_batch_is_under_way(provider: FakeProvider) -> None:
    provider.faults = always(HANGS)
    source = """
        rows = ["REC-00001-Y"] * 50
        threading.Thread(target=critic(model()).evaluate, args=(rows,), daemon=True).start()
        time.sleep(0.3)
        print("leaving")
    """
    began = time.monotonic()
    assert scripts.run(source, provider) == (0, "leaving\n", "")
    assert time.monotonic() - began < 100


def test_an_exit_from_a_progress_callback_ends_the_program(provider: FakeProvider) -> None:
    source = "critic(model()).evaluate(['REC-00001-Y'] * 9, progress=lambda result: sys.exit(7))"
    assert scripts.run(source, provider) == (7, "", "")


# -- processes -----------------------------------------------------------------------


@posix_only
def test_a_forked_child_can_use_the_model_of_its_parent(provider: FakeProvider) -> None:
    source = """
        judge = critic(model())
        print("parent", judge.evaluate("REC-00001-N").verdict, flush=True)
        if not os.fork():
            print("child", judge.evaluate("REC-00002-Y").verdict, flush=True)
            sys.exit(0)
        os.wait()
        print("parent", judge.evaluate("REC-00003-N").verdict, flush=True)
    """
    assert scripts.run(source, provider) == (0, "parent FAIL\nchild PASS\nparent FAIL\n", "")


@posix_only
def test_a_forked_child_can_call_the_functions_of_its_parent(provider: FakeProvider) -> None:
    source = """
        judge = critic(lambda prompt: "FAIL")
        judge.evaluate(["x"] * 5)
        if not os.fork():
            print(judge.evaluate("x").verdict, flush=True)
            sys.exit(0)
        os.wait()
    """
    assert scripts.run(source, provider) == (0, "FAIL\n", "")


@posix_only
def test_a_child_that_is_forked_while_every_place_is_taken_has_places_of_its_own(
    provider: FakeProvider,
) -> None:
    provider.faults = lambda record, attempt: HANGS if record == 1 else None
    source = """
        shared = model(max_concurrency=1)
        judge = critic(shared)
        judge.evaluate("REC-00003-Y")
        threading.Thread(target=judge.evaluate, args=(["REC-00001-Y"] * 2,), daemon=True).start()
        while not shared.inner.inner.inner.gate.inside:
            time.sleep(0.01)
        if not os.fork():
            print(judge.evaluate("REC-00002-Y").verdict, flush=True)
            os._exit(0)
        os.wait()
    """
    assert scripts.run(source, provider) == (0, "PASS\n", "")


@posix_only
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_pool_of_processes_judges(provider: FakeProvider, method: str) -> None:
    source = f"""
        import multiprocessing
        from support.judging import verdict_in_a_process
        if __name__ == "__main__":
            print(critic(model()).evaluate("REC-00000-N").verdict)
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                print(pool.map(verdict_in_a_process, ["REC-00001-Y", "REC-00002-N", "REC-00003-Y"]))
    """
    assert scripts.run(source, provider) == (0, "FAIL\n['PASS', 'FAIL', 'PASS']\n", "")


def test_the_home_loop_is_one_for_all_threads() -> None:
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(lambda _: event_loop.home_loop(), range(50)))) == 1


def test_opening_a_model_starts_nothing(provider: FakeProvider) -> None:
    open_model(lambda prompt: "PASS")
    assert scripts.run("model(); print(threading.active_count())", provider) == (0, "1\n", "")


@posix_only
def test_an_interrupt_while_an_event_is_handled_is_left_to_those_who_can_stop() -> None:
    stopped = asyncio.Event()

    async def count(outbox: event_loop.Outbox[int]) -> None:
        with event_loop.stoppable(stopped.set):
            outbox.put(1)
            await stopped.wait()
            outbox.put(2)

    seen = []
    with event_loop.stream(count) as events:
        for event in events:
            if event == 1:
                signal.raise_signal(signal.SIGINT)
            seen.append(event)
    assert seen == [1, 2]


@posix_only
def test_a_second_interrupt_cancels_what_is_streamed_and_its_last_events_are_read() -> None:
    async def hang(outbox: event_loop.Outbox[int]) -> None:
        with event_loop.stoppable(lambda: None):
            outbox.put(1)
            try:
                await asyncio.sleep(600)
            finally:
                outbox.put(2)

    seen = []
    with pytest.raises(KeyboardInterrupt), event_loop.stream(hang) as events:
        for event in events:
            seen.append(event)
            if event == 1:
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
    assert seen == [1, 2]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_work_waits_for_the_event_it_put_while_the_reader_was_done_with_those_before() -> None:
    class Overtaken(event_loop.Outbox[str]):
        waiting: asyncio.Task[None] | None = None

        def _wake(self) -> None:
            if self.waiting is None:
                on_home_loop(self.put_and_wait())
            super()._wake()

        async def put_and_wait(self) -> None:
            self.put("second")
            self.waiting = asyncio.create_task(self.drain())
            await asyncio.sleep(0)

        async def is_drained(self) -> bool:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return self.waiting is not None and self.waiting.done()

    def on_home_loop(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, event_loop.home_loop()).result(60)

    outbox = Overtaken()
    outbox.put("first")
    read = outbox.read()
    assert [next(read), next(read)] == ["first", "second"]
    assert not on_home_loop(outbox.is_drained()), "the second one is still being handled"
    outbox.end()
    assert next(read, None) is None
    assert on_home_loop(outbox.is_drained())


ASKS_WHILE_IT_READS = """
import asyncio
from adjudge.core.aio import event_loop

event_loop._MOST_WAITING = 2

async def work(outbox):
    for number in range(20):
        outbox.put(number)
        await asyncio.sleep(0)

async def awaited():
    return await event_loop.visit(asyncio.sleep(0, 1))

def streamed():
    with event_loop.stream(work) as events:
        return len([*events])

with event_loop.stream(work) as events:
    for _ in events:
        print(event_loop.run(asyncio.sleep(0, 1)), asyncio.run(awaited()), streamed())
"""


def test_who_reads_events_may_judge_meanwhile_however_far_ahead_the_work_is() -> None:
    """In a process of its own: work that waits for its reader holds up the home loop."""
    words = [sys.executable, "-c", ASKS_WHILE_IT_READS]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "1 1 20\n" * 20
