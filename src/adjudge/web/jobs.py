"""Runs that the page started: each in a separate process, within a share of the page's budget, and
stopped when the page ends.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.ledger.file import holds_run
from adjudge.errors import AdjudgeError, RunError, SetupError
from adjudge.messages import Message, reason_of
from adjudge.runs.folder import spent_in
from adjudge.runs.results.exit_code import ExitCode
from adjudge.web.spending import Share, Spending

_PYTHON = (sys.executable, "-P", "-m")
"""Without the working folder among the places that modules are imported from."""
_WORKER = (*_PYTHON, "adjudge.web.worker")
_LOCALES = {"en": "en_US.UTF-8", "ru": "ru_RU.UTF-8"}
_MOST_AT_ONCE = 4
_MOST_KEPT = 100
_LONGEST_MESSAGE = 2000
_ESTIMATES_AT_ONCE = 2
_PATIENCE = 300
"""Seconds that an estimate may take."""
_FINE = (ExitCode.OK, ExitCode.UNSCORED, ExitCode.GATE_FAILED, ExitCode.GATE_INCONCLUSIVE)


@dataclass
class Job:
    """A run started from the page, running or ended."""

    id: str
    folder: Path
    total: int | None
    """Expected number of judgments, if it is known."""
    share: Share
    spent_before: float
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    is_stopping: bool = False
    first_seen: tuple[float, int] | None = None
    """(time, number of judgments) of the first look at its progress."""
    ended: threading.Event = field(default_factory=threading.Event)
    message: str = ""
    """Its last message, if it did not end well."""

    def seconds_left(self, done: int) -> float | None:
        """Estimate the time left from the pace since the first call; None without a pace or a
        total.
        """
        now = time.monotonic()
        if self.first_seen is None:
            self.first_seen = now, done
        since, done_before = self.first_seen
        if not self.is_running or self.total is None or done <= done_before:
            return None
        return (now - since) * (self.total - done) / (done - done_before)

    @property
    def is_running(self) -> bool:
        return not self.ended.is_set()

    @property
    def is_fine(self) -> bool:
        """True if the run completed."""
        return self.process.returncode in _FINE

    def stop(self) -> None:
        """Stop gently: nothing more is sent, but open requests are awaited."""
        # set before the process can end, so that its end is not shown as a failure
        self.is_stopping = True
        self._let_go()

    def _let_go(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()

    def wait(self) -> None:
        """Wait for the process to end, then settle the job's share of the budget."""
        try:
            self.process.wait()
        finally:
            self.output.seek(0)
            self.message = "" if self.is_fine else _plain(self.output.read())
            self.output.close()
            self._let_go()
            # settled before ``ended`` is set: whoever sees it ended also sees its money back
            self._settle()
            self.ended.set()

    def _settle(self) -> None:
        """Settle the share with what was spent, or with all of it if that can no longer be read."""
        was_there = self.is_fine or self.spent_before > 0
        try:
            spent = (
                self.share.usd
                if was_there and not holds_run(self.folder)
                else dollars_in(self.folder) - self.spent_before
            )
        except AdjudgeError:
            spent = self.share.usd
        self.share.settle(max(0.0, spent))


class Jobs:
    """The jobs of a server, by id."""

    def __init__(self, spending: Spending, home: Path) -> None:
        self._spending = spending
        self._home = home
        self._jobs: dict[str, Job] = {}
        self._totals: dict[Path, int] = {}
        self._lock = threading.Lock()
        self._estimates: set[subprocess.Popen[bytes]] = set()

    def start(
        self,
        words: Sequence[str],
        folder: Path,
        usd: float,
        total: int | None = None,
        *,
        language: str = "en",
    ) -> Job:
        """Start a command that judges into ``folder`` and may spend ``usd`` in addition to earlier
        costs.

        Its messages are in ``language``. Raises a SetupError if the run, or too many others, are
        under way.
        """
        with self._lock:
            if (running := self.of(folder)) and running.is_running:
                raise SetupError("{name} is already under way", name=folder.name)
            if sum(job.is_running for job in self._jobs.values()) >= _MOST_AT_ONCE:
                raise SetupError(
                    "{most} runs are under way: wait for one of them, or stop it",
                    most=_MOST_AT_ONCE,
                )
            spent_before, share = dollars_in(folder), self._spending.set_aside(usd, folder.name)
            output = TemporaryFile()  # noqa: SIM115 - it is closed when the job has ended
            # the limit of a run counts from its beginning, so what was spent before is added
            command = [*_WORKER, *words, "--max-usd", f"{spent_before + usd:.6f}"]
            try:
                process = subprocess.Popen(  # noqa: S603 - our own command
                    command,
                    cwd=self._home,
                    # the command prints in the language of the reader, not of the terminal
                    env={**os.environ, "LC_ALL": _LOCALES[language]},
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    # Ctrl-C in the terminal reaches only the page, which then stops its jobs
                    # gently
                    start_new_session=True,
                )
            except OSError as error:
                share.settle(0.0)
                raise _no_process(error) from error
            self._totals[folder] = total = total or self._totals.get(folder, 0)
            job = Job(
                secrets.token_hex(4), folder, total or None, share, spent_before, process, output
            )
            self._forget_old()
            self._jobs[job.id] = job
            threading.Thread(target=job.wait, daemon=True).start()
            return job

    def find(self, id: str) -> Job:
        if job := self._jobs.get(id):
            return job
        raise SetupError(
            "that run was not started from this page, or was started long ago: look for it in "
            "the list of runs"
        )

    def of(self, folder: Path) -> Job | None:
        """Return the last job for a folder; None if there is none."""
        return next((job for job in reversed([*self._jobs.values()]) if job.folder == folder), None)

    def close(self) -> None:
        """Stop every job gently, and kill running estimates."""
        with self._lock:  # one that is just being started is among them
            for process in [*self._estimates]:
                process.kill()
            jobs = [*self._jobs.values()]
        for job in jobs:
            if job.is_running:
                job.stop()

    def estimate(self, words: Sequence[str]) -> JsonDict:
        """Estimate what a command would cost, in a separate process so that this one stays
        small.
        """
        printed = self.answer_of(
            [*words, "--dry-run", "--json"],
            Message("the estimate takes too long: judge only the first rows"),
        )
        result: JsonDict = json.loads(printed)["results"][0]
        return result

    def answer_of(self, words: Sequence[str], too_long: str) -> bytes:
        """Run a command that asks no model, and return its output. Raises an error if it fails or
        times out.
        """
        with self._asking([*_PYTHON, "adjudge", *words]) as process:
            try:
                printed, errors = process.communicate(timeout=_PATIENCE)
            except subprocess.TimeoutExpired as error:
                raise RunError(too_long) from error
        if process.returncode:
            raise SetupError(_plain(errors))
        return printed

    @contextmanager
    def _asking(self, command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        """Run a process for a request that browsers may repeat at will.

        Only a few may run at a time, and none outlives its request.
        """
        with self._lock:
            if len(self._estimates) >= _ESTIMATES_AT_ONCE:
                raise SetupError(
                    "{most} estimates are under way: wait for one of them",
                    most=_ESTIMATES_AT_ONCE,
                )
            pipe = subprocess.PIPE
            try:
                process = subprocess.Popen(  # noqa: S603 - our own command
                    command, cwd=self._home, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
                )
            except OSError as error:
                raise _no_process(error) from error
            self._estimates.add(process)
        try:
            with process:
                try:
                    yield process
                finally:
                    process.kill()  # which does nothing to one that has ended
        finally:
            self._estimates.discard(process)

    def _forget_old(self) -> None:
        ended = [id for id, job in self._jobs.items() if not job.is_running]
        for id in ended[: max(0, len(self._jobs) - _MOST_KEPT)]:
            del self._jobs[id]


def _no_process(error: OSError) -> RunError:
    return RunError("the process could not be started: {reason}", reason=reason_of(error))


def dollars_in(folder: Path) -> float:
    """Return the cost of a run so far; 0 if there is no run."""
    return spent_in(folder).usd if holds_run(folder) else 0.0


def _plain(output: bytes) -> str:
    """Return the last message that a command printed, without the program name."""
    text = "\n" + output.decode("utf-8", "replace").strip()
    return text.rpartition("\nadjudge: ")[2].strip()[-_LONGEST_MESSAGE:]
