"""A Ray cluster: chunks of rows to workers, which commit before they return, are started anew and go on."""

from __future__ import annotations

import ipaddress
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from adjudge.engine.backends.ray.limiter import Lease, LeasedPace, Limiter, LimiterLostError, SharedLimits
from adjudge.errors import AdjudgeError, BudgetSpent, ModelUnusable, OtherConfiguration, RunError, RunStopped, SetupError
from adjudge.gateway.layers.account import Spent
from adjudge.gateway.layers.budget import Budget, More
from adjudge.gateway.layers.limit import Rate

if TYPE_CHECKING:
    from ray.actor import ActorHandle

RAY = "ray"
_ADDRESS = "RAY_ADDRESS"
_AUTHENTICATION = "RAY_AUTH_MODE"
_UNDER_WAY = 2
"""Chunks that a worker has at once: one to judge, and the next."""
_NO_LIMITER = "the process that shares the budget among the workers is gone, and nothing is spent without it"
_STOPPED = "stopped: the workers sent nothing more, and what was answered is kept"
T = TypeVar("T")
C = TypeVar("C")
D = TypeVar("D")
C_contra = TypeVar("C_contra", contravariant=True)
D_co = TypeVar("D_co", covariant=True)


class Worker(Protocol[C_contra, D_co]):
    """What runs in a process of the cluster. Judging the same chunk again asks nothing that was answered."""

    def judge(self, chunk: C_contra) -> D_co:
        """Judge a chunk; all of it is kept when this returns."""
        ...

    def stop(self, reason: str) -> None:
        """Send nothing more."""
        ...


@dataclass(frozen=True)
class Spread(Generic[C, D]):
    """Work for a cluster."""

    make: Callable[[int, SharedLimits], Worker[C, D]]
    """Called in the process of each worker, with its number: a function of a module, or a partial of one."""
    rates: Mapping[str, Rate]
    left: Budget | None
    """What may still be spent by all workers together."""

    def over(
        self, where: str, workers: int | None, chunks: Callable[[int], Iterator[tuple[int, C]]], on_done: Callable[[D], None]
    ) -> None:
        """Judge all chunks, each by the worker whose number stands before it. Raises what ended a worker, when all stopped."""
        with connected(where) as most:
            count = workers or most
            _Cluster(self, count, min(1.0, most / count)).judge(chunks(count), on_done)


def check_address(where: str) -> str:
    """What Ray is to connect to. A cluster that others may reach must know who calls: whoever does can run code there."""
    if where != RAY and not where.startswith("ray://"):
        raise SetupError(f"--on is ray, ray://HOST:PORT or postgresql://HOST/DATABASE#NAME, not {where!r}")
    address = os.environ.get(_ADDRESS, "local") if where == RAY else where
    if address == "local" or _is_loopback(address) or os.environ.get(_AUTHENTICATION) == "token":
        return address
    raise SetupError(
        f"the Ray cluster at {address} lets in anybody who reaches it: start it with {_AUTHENTICATION}=token, and set that "
        "here too"
    )


def _is_loopback(address: str) -> bool:
    host = urlsplit(address if "://" in address else f"//{address}").hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def connected(where: str) -> Iterator[int]:
    """A connection to the cluster, or one of our own on this machine. Says how many workers it has room for."""
    address = check_address(where)
    if find_spec("ray") is None:
        raise SetupError("--on ray needs Ray: pip install 'adjudge[ray]'")
    import ray

    own = not ray.is_initialized()
    if own:
        here = {"_node_ip_address": "127.0.0.1", "include_dashboard": False} if address == "local" else {}
        ray.init(address=address, log_to_driver=False, configure_logging=False, **here)
    try:
        yield max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        if own:
            ray.shutdown()


_KINDS: Mapping[str, type[AdjudgeError]] = {
    kind.__name__: kind for kind in (BudgetSpent, RunStopped, ModelUnusable, SetupError, OtherConfiguration)
}


@dataclass(frozen=True)
class _Failed:
    """What ended a worker, in a form that every process can read."""

    kind: str
    message: str

    def error(self) -> AdjudgeError:
        return _KINDS.get(self.kind, RunError)(self.message)


class _Judging(Generic[C, D]):
    """The actor."""

    def __init__(self, make: Callable[[int, SharedLimits], Worker[C, D]], number: int, limits: RayLimits) -> None:
        self._failed: _Failed | None = None
        try:
            self._worker = make(number, limits)
        except AdjudgeError as error:
            self._failed = _Failed(type(error).__name__, str(error))

    def judge(self, chunk: C) -> D | _Failed:
        if self._failed is not None:
            return self._failed
        try:
            return self._worker.judge(chunk)
        except AdjudgeError as error:
            return _Failed(type(error).__name__, str(error))

    def stop(self, reason: str) -> None:
        if self._failed is None:
            self._worker.stop(reason)


class _Cluster(Generic[C, D]):
    """The workers and their limiter, seen from the driver."""

    def __init__(self, work: Spread[C, D], count: int, cpus: float) -> None:
        """``cpus``: of each worker; more workers than CPUs share them, or some would wait for ever."""
        import ray

        self._ray = ray
        name = f"adjudge-limiter-{uuid4().hex}"
        limiter = ray.remote(num_cpus=0, max_restarts=0)(Limiter).options(name=name)
        self._limiter = limiter.remote(work.rates, work.left, count)  # it lives as long as somebody holds it
        actor = ray.remote(num_cpus=cpus, max_restarts=-1, max_task_retries=-1, max_concurrency=4)(_Judging)
        limits = RayLimits(name, dict(work.rates), count, budgeted=work.left is not None)
        self._workers = [actor.remote(work.make, number, limits) for number in range(count)]
        self._pending: dict[object, int] = {}
        self._load: Counter[int] = Counter()
        self._ended: AdjudgeError | None = None

    def judge(self, chunks: Iterator[tuple[int, C]], on_done: Callable[[D], None]) -> None:
        """Hand out all of them, and wait until all are judged."""
        try:
            for number, chunk in chunks:
                while self._load[number] >= _UNDER_WAY and not self._ended:
                    self._wait(on_done)
                if self._ended:
                    break
                self._pending[self._workers[number].judge.remote(chunk)] = number
                self._load[number] += 1
            self._drain(on_done)
        except KeyboardInterrupt:
            self._stop(RunStopped(_STOPPED))
            self._drain(on_done)
        if self._ended:
            raise self._ended

    def _drain(self, on_done: Callable[[D], None]) -> None:
        while self._pending:
            self._wait(on_done)

    def _wait(self, on_done: Callable[[D], None]) -> None:
        (ready, *_), _ = self._ray.wait(list(self._pending), num_returns=1)
        self._load[self._pending.pop(ready)] -= 1
        try:
            done = self._ray.get(ready)
        except self._ray.exceptions.RayError as error:
            self._stop(RunError(f"a worker of the cluster failed: {error}"))
            return
        if isinstance(done, _Failed):
            self._stop(done.error())
        else:
            on_done(done)

    def _stop(self, reason: AdjudgeError) -> None:
        """Have all workers stop; the first reason is the one that is raised."""
        if self._ended is None:
            self._ended = reason
            for worker in self._workers:
                worker.stop.remote(str(reason))


class RayLimits:
    """A worker's connection to the limiter, which it knows by name."""

    def __init__(self, limiter: str, rates: Mapping[str, Rate], workers: int, *, budgeted: bool) -> None:
        self._name = limiter
        self._rates = rates
        self._workers = workers
        self._budgeted = budgeted

    def pace(self, model: str) -> LeasedPace:
        """The model's, by its identity."""

        async def lease(tokens: int) -> Lease:
            found: Lease = await self._answer(lambda limiter: limiter.lease.remote(model, tokens))
            return found

        def tell(seconds: float | None) -> None:
            with suppress(LimiterLostError):
                self._limiter().slow_down.remote(model, seconds)

        return LeasedPace(lease, tell, self._rates.get(model, Rate()), self._workers)

    @property
    def more(self) -> More | None:
        """Gives a further part of the budget."""
        return self._more if self._budgeted else None

    async def _more(self, likely: Spent, most: Spent) -> Budget | None:
        try:
            part: Budget | None = await self._answer(lambda limiter: limiter.grant.remote(likely, most))
        except LimiterLostError:
            raise RunStopped(
                "the process that shares the budget among the workers is gone, and nothing is spent without it"
            ) from None
        return part

    def _limiter(self) -> ActorHandle:
        import ray

        try:
            return ray.get_actor(self._name)
        except ValueError as error:
            raise LimiterLostError from error

    async def _answer(self, ask: Callable[[ActorHandle], Awaitable[T]]) -> T:
        import ray

        try:
            return await ask(self._limiter())
        except ray.exceptions.RayError as error:
            raise LimiterLostError from error
