"""Code that means no harm: inputs in, tools called, output back; the same in every sandbox."""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walls import WORKING, installed

from adjudge.errors import Crashed, SandboxError, SetupError, Timeout
from adjudge.features.generate.sandbox import python, scratch
from adjudge.features.generate.sandbox.base import Execution, Limits, Sandbox
from adjudge.features.generate.sandbox.finder import find_sandbox
from adjudge.features.generate.sandbox.host import CHILD, CodeJob, execute
from adjudge.features.generate.sandbox.launcher import Launch
from adjudge.features.generate.sandbox.meter import MOST_FILES, size_of
from adjudge.features.generate.sandbox.scratch import remove, scratch_folder
from adjudge.features.generate.sandbox.seccomp import filter_program


@pytest.fixture(scope="module", params=[*installed(), pytest.param("none", id="none")])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param != "none" and request.param not in WORKING:
        pytest.skip(f"{request.param} does not work here: {WORKING.why(request.param)}")
    return find_sandbox(request.param)


def run(sandbox: Sandbox, code: str, **given: object) -> Execution:
    return asyncio.run(sandbox.run(code, **given))  # type: ignore[arg-type]


def test_output_and_printed_text_come_back(sandbox: Sandbox) -> None:
    done = run(
        sandbox,
        "import sys\nprint('да', x)\nprint('oops', file=sys.stderr)\noutput = {'sum': x + "
        "1, 'pair': (1, None)}",
        inputs={"x": 2},
    )
    assert (done.output, done.has_output) == ({"sum": 3, "pair": [1, None]}, True)
    assert (done.stdout, done.stderr) == ("да 2\n", "oops\n")
    assert 0 < done.seconds < 300


def test_no_output_is_not_the_output_none(sandbox: Sandbox) -> None:
    assert run(sandbox, "x = 1").has_output is False
    done = run(sandbox, "output = None")
    assert (done.output, done.has_output) == (None, True)


def test_tools_are_called_outside(sandbox: Sandbox) -> None:
    seen = []

    def here(*args: object, **kwargs: object) -> object:
        seen.append((args, kwargs, os.getpid()))
        return {"got": len(args)}

    async def later(text: str) -> str:
        await asyncio.sleep(0)
        return text.upper()

    done = run(
        sandbox,
        "output = [here(1, [2], key='v'), later('ä')]",
        tools={"here": here, "later": later},
    )
    assert done.output == [{"got": 2}, "Ä"]
    assert seen == [((1, [2]), {"key": "v"}, os.getpid())]


def test_a_tools_error_is_an_exception_with_its_message(sandbox: Sandbox) -> None:
    def broken() -> None:
        raise ValueError("no such city")

    def odd() -> object:
        return {1, 2}

    code = (
        "output = []\nfor tool in (broken, odd):\n    try: tool()\n    except RuntimeError as "
        "error: output.append(str(error))"
    )
    done = run(sandbox, code, tools={"broken": broken, "odd": odd})
    assert isinstance(done.output, list)
    assert done.output[0] == "broken: no such city"
    assert "odd" in done.output[1]
    assert "not JSON serializable" in done.output[1]


def test_tools_can_be_called_from_threads(sandbox: Sandbox) -> None:
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool: output = list(pool.map(double, range(20)))"
    )
    assert run(sandbox, code, tools={"double": lambda number: 2 * number}).output == [
        2 * n for n in range(20)
    ]


def test_the_usual_libraries_work(sandbox: Sandbox) -> None:
    code = (
        "import asyncio, random, hashlib, datetime, decimal, re, json, tempfile, "
        "dataclasses, zoneinfo\n"
        "@dataclasses.dataclass\nclass P:\n    x: int\n"
        "open('file.txt', 'w').write('text')\n"
        "output = [asyncio.run(asyncio.sleep(0, 5)), hashlib.md5(b'').hexdigest()[:4], "
        "P(1).x, open('file.txt').read(), __name__]"
    )
    assert run(sandbox, code).output == [5, "d41d", 1, "text", "__main__"]


BAD = {
    "a set": ("output = {1}", "not JSON"),
    "not a number": ("output = float('nan')", "not JSON"),
    "an object": ("output = object()", "not JSON"),
    "half a character": ("output = chr(0xD800)", "cannot be read"),
    "an error": (
        "x = 1\nraise ValueError('bad value')",
        'ValueError: bad value\nTraceback.*\n.*"<code>", line 2',
    ),
    "an exit": ("raise SystemExit(3)", "SystemExit"),
    "an error that cannot be shown": (
        "class E(Exception):\n    def __str__(self): return 1 / 0\nraise E",
        "ZeroDivisionError",
    ),
    "an own interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "syntax": ("x = (", "SyntaxError"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_ends_say_what_happened(name: str, sandbox: Sandbox) -> None:
    code, said = BAD[name]
    with pytest.raises(Crashed, match=said):
        run(sandbox, code)


FORGED = {
    "NaN": "NaN",
    "Infinity": "[-Infinity]",
    "a number too large": '{"a": 1e999}',
    "half a character": '"\\\\ud800"',
    "a key that is half a character": '{"\\\\ud800": 1}',
    "a key twice": '{"a": 1, "a": 2}',
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_result_that_is_no_json_does_not_come_in(name: str) -> None:
    """Written past the runner, straight into its pipe: there is no wall inside the process."""
    code = (
        f'import os, time\nos.write(4, b\'{{"done": true, "output": '
        f"{FORGED[name]}}}\\n')\ntime.sleep(9)"
    )
    with pytest.raises(Crashed, match="cannot be read"):
        run(find_sandbox("none"), code)


def test_an_exit_without_trouble_is_an_end(sandbox: Sandbox) -> None:
    assert run(sandbox, "output = 1\nraise SystemExit").output == 1


def test_the_error_carries_what_was_printed(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError) as caught:
        run(sandbox, "print('so far')\n1 / 0")
    assert caught.value.stdout == "so far\n"


def test_inputs_that_are_not_json_are_refused_before(sandbox: Sandbox) -> None:
    with pytest.raises(SetupError, match="inputs of generated code must be JSON"):
        run(sandbox, "output = x", inputs={"x": object()})


def test_many_run_side_by_side(sandbox: Sandbox) -> None:
    async def all_of_them() -> list[object]:
        done = await asyncio.gather(
            *(sandbox.run("output = x * x", inputs={"x": x}) for x in range(6))
        )
        return [one.output for one in done]

    assert asyncio.run(all_of_them()) == [0, 1, 4, 9, 16, 25]


def test_a_cancelled_run_is_ended(sandbox: Sandbox) -> None:
    async def cancelled() -> float:
        task = asyncio.create_task(
            sandbox.run("import time; tell(); time.sleep(600)", tools={"tell": reached.set})
        )
        await asyncio.to_thread(reached.wait, 120)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - started

    reached = threading.Event()
    assert asyncio.run(cancelled()) < 60


def test_a_process_that_cannot_lock_itself_up_runs_nothing(tmp_path: Path) -> None:
    """A filter the kernel does not take, given to the real process."""
    job = CodeJob("open('ran', 'w')", {}, {}, Limits())
    with pytest.raises(
        SandboxError, match=r"could not be locked down, so nothing was run: OSError.*filter"
    ):
        asyncio.run(
            execute(Launch(python.command(CHILD, tmp_path), tmp_path, filter=b"\xff" * 8), job)
        )
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_is_not_there_is_a_setup_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be started: /no/such/program"):
        asyncio.run(execute(Launch(["/no/such/program"], tmp_path), CodeJob("", {}, {}, Limits())))


@pytest.mark.parametrize(
    "limits",
    [
        {"wall": -1},
        {"cpu": math.inf},
        {"memory_mb": "512"},
        {"processes": True},
        {"wall": math.nan},
    ],
)
def test_limits_that_mean_nothing_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(SetupError, match=f"limit {next(iter(limits))}="):
        Limits(**limits)  # type: ignore[arg-type]


def test_the_filter_exists_for_both_machines_and_no_other() -> None:
    for machine in ("x86_64", "aarch64"):
        program = filter_program(machine)
        assert len(program) % 8 == 0
        assert len(program) // 8 < 4096  # the kernel takes no longer one
    with pytest.raises(SetupError, match="riscv64"):
        filter_program("riscv64")


NAMES = st.text(alphabet="ab.é ", min_size=1, max_size=4).filter(
    lambda name: name not in (".", "..")
)
TREES = st.recursive(
    st.sampled_from(["file", "link", "loop"]),
    lambda inner: st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


def build(folder: Path, tree: object, outside: Path) -> None:
    if isinstance(tree, dict):
        folder.mkdir()
        for name, inner in tree.items():
            build(folder / name, inner, outside)
        folder.chmod(0o000)
    elif tree == "file":
        folder.write_bytes(b"x" * 5000)
    else:
        folder.symlink_to(outside if tree == "link" else folder)


@given(tree=st.dictionaries(NAMES, TREES, max_size=4))
def test_any_folder_can_be_deleted_without_following_links(
    tree: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "kept").write_text("kept", encoding="utf-8")
    folder = tmp_path_factory.mktemp("scratch")
    for name, inner in tree.items():
        build(folder / name, inner, outside)
    remove(folder)
    assert not folder.exists()
    assert (outside / "kept").read_text(encoding="utf-8") == "kept"


def test_the_size_of_a_folder_counts_files_and_not_links(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "link").symlink_to("/usr")
    (tmp_path / "inner" / "again").hardlink_to(tmp_path / "inner" / "file")
    assert 100_000 <= size_of(tmp_path) < 200_000
    remove(tmp_path)


def test_a_thousand_and_more_nested_folders_are_measured_and_deleted(tmp_path: Path) -> None:
    """Deeper than Python recurses, and longer than the kernel lets a path be."""
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("deep", dir_fd=place)
        inner = os.open("deep", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    file = os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=place)
    os.write(file, b"x" * 500_000)
    os.close(file)
    os.close(place)
    assert size_of(tmp_path) >= 500_000
    remove(tmp_path)
    assert not tmp_path.exists()


def test_more_files_than_anybody_counts_are_too_many(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 1):
        (tmp_path / str(number)).symlink_to("x")
    assert size_of(tmp_path) == math.inf


def test_the_event_loop_is_free_while_a_folder_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    ticked = threading.Event()
    seen: list[bool] = []

    def slow(folder: Path) -> None:
        seen.append(ticked.wait(120))
        remove(folder)

    async def main() -> Path:
        async with scratch_folder() as folder:
            asyncio.get_running_loop().call_soon(
                lambda: asyncio.get_running_loop().call_soon(ticked.set)
            )
        return folder

    monkeypatch.setattr(scratch, "remove", slow)
    assert not asyncio.run(main()).exists()
    assert seen == [True]


WATCHES = """
import os, signal, subprocess, sys, threading
from adjudge.features.generate.sandbox.keeper import _watch
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
child = subprocess.Popen(["/bin/sleep", "60"])
watch = threading.Thread(target=_watch, args=(child.pid, 5))
if sys.argv[1] == "during": watch.start()
import time; time.sleep(0.3)
child.kill(); child.wait()
if sys.argv[1] == "before": watch.start()
os.kill(os.getpid(), signal.SIGTERM)
watch.join()
"""


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_keeper_says_nothing_about_a_child_that_has_just_ended(when: str) -> None:
    """A ProcessLookupError of its own would stand in the standard error of the code."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHES, when],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_code_that_heeds_no_signal_is_ended(sandbox: Sandbox) -> None:
    code = (
        "import signal, time\nfor number in (1, 2, 15): signal.signal(number, "
        "signal.SIG_IGN)\ntime.sleep(600)"
    )
    with pytest.raises(Timeout, match="of wall-clock time"):
        run(sandbox, code, limits=Limits(wall=1))


def test_a_loop_that_is_closed_takes_its_runs_with_it(sandbox: Sandbox) -> None:
    """One of many fails while others start, run and wait: everything ends, and soon."""

    async def one(number: int) -> None:
        async with turn:
            if number == 1:
                await asyncio.sleep(0.02)
                raise ValueError("the first")
            await sandbox.run("import time; time.sleep(600)")

    async def all_of_them() -> None:
        await asyncio.gather(*map(one, range(8)))

    turn = asyncio.Semaphore(2)
    started = time.monotonic()
    with pytest.raises(ValueError, match="the first"):
        asyncio.run(all_of_them())
    assert time.monotonic() - started < 120
