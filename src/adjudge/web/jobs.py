"""Runs that the page started: each in a process of its own, within a share of the page's budget,
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
    """A run under way, or one that was."""

    id: str
    folder: Path
    total: int | None
    """Judgments there will be, where that is known."""
    share: Share
    spent_before: float
    process: subprocess.Popen[bytes]
    said: IO[bytes]
    is_stopping: bool = False
    first_seen: tuple[float, int] | None = None
    """When its progress was first looked at, and how many judgments there were then."""
    ended: threading.Event = field(default_factory=threading.Event)
    message: str = ""
    """What it said at its end, where that was not what was wanted."""

    def seconds_left(self, done: int) -> float | None:
        """By the pace since it was first looked at; None until there is one."""
        now = time.monotonic()
        if self.first_seen is None:
            self.first_seen = now, done
        since, before = self.first_seen
        if not self.is_running or self.total is None or done <= before:
            return None
        return (now - since) * (self.total - done) / (done - before)

    @property
    def is_running(self) -> bool:
        return not self.ended.is_set()

    @property
    def is_fine(self) -> bool:
        """Whether it came to its end."""
        return self.process.returncode in _FINE

    def stop(self) -> None:
        """Send nothing more; what is under way is waited for."""
        self.is_stopping = True
        self._let_go()

    def _let_go(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()

    def wait(self) -> None:
        """Until it has ended; then its share is settled by what its ledger says."""
        try:
            self.process.wait()
        finally:
            self.message = "" if self.is_fine else _last(self.said)
            self.said.close()
            self._let_go()
            self._settle()
            self.ended.set()

    def _settle(self) -> None:
        """Where nobody can say any more what was spent, all that might have been."""
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
    """What was started, by id."""

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
        """Give a command that judges into ``folder``, with ``usd`` more than it has spent; what it
        says is in ``language``.
        """
        with self._lock:
            if (known := self.of(folder)) and known.is_running:
                raise SetupError("{name} is under way already", name=folder.name)
            if sum(job.is_running for job in self._jobs.values()) >= _MOST_AT_ONCE:
                raise SetupError(
                    "{most} runs are under way: wait for one of them, or stop it",
                    most=_MOST_AT_ONCE,
                )
            before, share = dollars_in(folder), self._spending.set_aside(usd)
            said = TemporaryFile()  # noqa: SIM115 - it is closed when the job has ended
            command = [*_WORKER, *words, "--max-usd", f"{before + usd:.6f}"]
            try:
                process = subprocess.Popen(  # noqa: S603 - our own command
                    command,
                    cwd=self._home,
                    env={**os.environ, "LC_ALL": _LOCALES[language]},
                    stdin=subprocess.PIPE,
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                )
            except OSError as error:
                share.settle(0.0)
                raise _no_process(error) from error
            self._totals[folder] = total = total or self._totals.get(folder, 0)
            job = Job(secrets.token_hex(4), folder, total or None, share, before, process, said)
            self._forget_old()
            self._jobs[job.id] = job
            threading.Thread(target=job.wait, daemon=True).start()
            return job

    def find(self, id: str) -> Job:
        if job := self._jobs.get(id):
            return job
        raise SetupError(
            "that run was not started by this page, or long ago: look for it in the list of runs"
        )

    def of(self, folder: Path) -> Job | None:
        """The last job that judges into a folder."""
        return next((job for job in reversed([*self._jobs.values()]) if job.folder == folder), None)

    def close(self) -> None:
        """The page ends: every job stops gently, and nobody waits for an estimate any more."""
        with self._lock:  # one that is just being started is among them
            for process in [*self._estimates]:
                process.kill()
            jobs = [*self._jobs.values()]
        for job in jobs:
            if job.is_running:
                job.stop()

    def estimate(self, words: Sequence[str]) -> JsonDict:
        """What a command would take, in a process of its own, so that this one stays small."""
        told = self.answer_of(
            [*words, "--dry-run", "--json"],
            Message("the estimate takes too long: judge the first rows alone"),
        )
        found: JsonDict = json.loads(told)["results"][0]
        return found

    def answer_of(self, words: Sequence[str], too_long: str) -> bytes:
        """What a command that asks nobody prints."""
        with self._asking([*_PYTHON, "adjudge", *words]) as process:
            try:
                told, said = process.communicate(timeout=_PATIENCE)
            except subprocess.TimeoutExpired as error:
                raise RunError(too_long) from error
        if process.returncode:
            raise SetupError(_plain(said))
        return told

    @contextmanager
    def _asking(self, command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        """A process of an address that anybody may reload: never more of them than a machine bears,
        and none is left behind.
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
    return RunError("no process could be started: {reason}", reason=reason_of(error))


def dollars_in(folder: Path) -> float:
    """What a run has cost until now; nothing where there is none."""
    return spent_in(folder).usd if holds_run(folder) else 0.0


def _last(said: IO[bytes]) -> str:
    said.seek(0)
    return _plain(said.read())


def _plain(said: bytes) -> str:
    """What a command said at its end, without its name in front, and without the figures that the
    page shows itself.
    """
    text = "\n" + said.decode("utf-8", "replace").strip()
    return text.rpartition("\nadjudge: ")[2].strip()[-_LONGEST_MESSAGE:]
