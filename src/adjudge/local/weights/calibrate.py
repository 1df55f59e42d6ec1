"""Which format of the weights reads prompts faster on this CPU, and how many threads it has for us."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.errors import SetupError
from adjudge.local.weights.convert import rewrite
from adjudge.local.weights.gguf import read_header

LAYERS = 3
"""A cut this deep has the whole model's ratio of speeds within 2 %, and is made in a second."""
_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
"""How OpenMP's threads wait for each other."""
_TOKENS = 256
_ROUNDS = 5
_WORTH_IT = 1.1
"""F16 takes two and a half times the disk and memory, and writes more slowly: it must read this much faster."""


class Speeds(NamedTuple):
    """Prompt tokens a second through the first layers, in each format."""

    downloaded: float
    f16: float

    @property
    def ratio(self) -> float:
        """How many times as fast F16 is."""
        return self.f16 / self.downloaded

    @property
    def f16_wins(self) -> bool:
        """Whether F16 is worth its size here."""
        return self.ratio >= _WORTH_IT


def measure(weights: Path, scratch: Path) -> Speeds:
    """Read a prompt through the first layers of ``weights`` in both formats, in turn; the best round of each counts."""
    xllamacpp = import_xllamacpp()
    prompt = _prompt(weights)
    cuts = [scratch / "downloaded.cut.gguf", scratch / "f16.cut.gguf"]
    try:
        for cut, to_f16 in zip(cuts, (False, True), strict=True):
            rewrite(weights, cut, to_f16=to_f16, layers=LAYERS)
        servers = [_load(xllamacpp, cut) for cut in cuts]
        rounds = [[_speed(server, prompt) for server in servers] for _ in range(_ROUNDS)]
    finally:
        for cut in cuts:
            cut.unlink(missing_ok=True)
    return Speeds(*map(max, zip(*rounds, strict=True)))


def import_xllamacpp() -> Any:
    """The library that runs local models, or the SetupError that says how to get it."""
    try:
        with _threads_that_sleep():
            import xllamacpp  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ModuleNotFoundError as error:
        raise SetupError("local models need xllamacpp: pip install 'adjudge[local]'") from error
    except ImportError as error:  # it brings all but the system's libgomp and libstdc++
        raise SetupError(
            f"xllamacpp cannot be loaded ({error}): on Debian and Ubuntu, apt install libgomp1 libstdc++6"
        ) from error
    return xllamacpp


@contextmanager
def _threads_that_sleep() -> Iterator[None]:
    """OpenMP reads its settings when it is loaded. Threads that spin at barriers stop each other on a busy machine.

    A setting of the user's is kept. Where another library has loaded OpenMP before, its setting holds.
    """
    if any(name in os.environ for name in _WAITING):
        yield
        return
    os.environ[_WAITING[0]] = "passive"
    try:
        yield
    finally:
        os.environ.pop(_WAITING[0], None)


def threads() -> int:
    """Cores this process may use: hyper-threads of one core count once, and a container's share of the CPU is kept to."""
    cores = {_core_of(cpu) for cpu in _allowed_cpus()}
    return max(1, min(len(cores), _container_share()))


def _prompt(weights: Path) -> list[int]:
    """Any tokens will do; all of them in the vocabulary."""
    tokens = read_header(weights).metadata.get("tokenizer.ggml.tokens", ())
    return [number % max(1, len(tokens)) for number in range(_TOKENS)]


def _load(xllamacpp: Any, cut: Path) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(cut)
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads = 2 * _TOKENS, 1, threads()
    params.verbosity, params.warmup, params.fit_params = 0, False, False
    params.cache_ram_mib, params.ui, params.endpoint_slots = 0, False, False
    params.api_keys, params.cors_origins = [secrets.token_hex(16)], ""  # it listens on loopback whether we want it or not
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise SetupError(f"the first layers of the weights could not be loaded: {error}") from error


def _speed(server: Any, prompt: list[int]) -> float:
    reply = server.handle_completions({"prompt": prompt, "n_predict": 1, "temperature": 0, "cache_prompt": False})
    if "choices" not in reply:
        raise SetupError(f"the first layers of the weights could not be run: {reply.get('error')}")
    return float(reply["timings"]["prompt_per_second"])


def _allowed_cpus() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _core_of(cpu: int) -> str:
    siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    return _read(siblings) or str(cpu)


def _container_share() -> int:
    quota, _, period = _read(Path("/sys/fs/cgroup/cpu.max")).partition(" ")
    return math.ceil(int(quota) / int(period)) if quota.isdecimal() else 1_000_000


def _read(path: Path) -> str:
    """What a file of the system says; nothing where the system has no such file."""
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
