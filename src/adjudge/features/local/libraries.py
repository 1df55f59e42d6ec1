"""Import the libraries that run local models when needed, with the right number of threads."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adjudge.errors import SetupError

# Variables for the waiting of OpenMP's threads: spinning threads stop each other on a busy
# machine.
_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
# Its threads spin, too, and our products are too small for several.
_NUMPY_THREADS = "OPENBLAS_NUM_THREADS"
# Without it onnxruntime keeps an id of the machine and sends events to its makers.
_NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"


def import_numpy() -> None:
    """Load numpy with one thread, so that sums are equal on every machine.

    Raise a SetupError if it is missing.
    """
    try:
        with _set_while_loading("1", _NUMPY_THREADS):
            import numpy  # noqa: F401
    except ModuleNotFoundError as error:
        raise SetupError(
            "a learned judge needs {name}: pip install 'adjudge[local]'", name=error.name
        ) from error


def import_onnxruntime() -> Any:
    """Return the library that runs the embedded model.

    Raise a SetupError if it is missing or cannot be loaded.
    """
    try:
        with _set_while_loading("1", _NUMPY_THREADS):
            import numpy  # noqa: F401
        os.environ.setdefault(_NO_TELEMETRY, "1")
        import onnxruntime
    except ModuleNotFoundError as error:
        raise SetupError(
            "the embedded model needs {name}: pip install 'adjudge[local]'", name=error.name
        ) from error
    except ImportError as error:
        raise SetupError(
            "onnxruntime cannot be loaded ({error}): pip install --force-reinstall onnxruntime",
            error=error,
        ) from error
    return onnxruntime


def import_xllamacpp() -> Any:
    """Return the library that runs other GGUF files and writes answers.

    Raise a SetupError if it is missing or cannot be loaded.
    """
    try:
        with _set_while_loading("passive", *_WAITING):
            import xllamacpp  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ModuleNotFoundError as error:
        raise SetupError(
            "GGUF files, and written answers of the embedded model, need xllamacpp: pip "
            "install 'adjudge[gguf]'"
        ) from error
    except ImportError as error:  # it brings all but the system's libgomp and libstdc++
        raise SetupError(
            "xllamacpp cannot be loaded ({error}): on Debian and Ubuntu, apt install "
            "libgomp1 libstdc++6",
            error=error,
        ) from error
    return xllamacpp


@contextmanager
def _set_while_loading(value: str, *names: str) -> Iterator[None]:
    """Set the first variable while a library is loaded, unless the user has set any of them."""
    # If another library loaded the same runtime before, that setting holds.
    if any(name in os.environ for name in names):
        yield
        return
    os.environ[names[0]] = value
    try:
        yield
    finally:
        os.environ.pop(names[0], None)


def threads() -> int:
    """Return the number of cores this process may use."""
    # Hyper-threads of one core count once, and a container's CPU limit applies.
    cores = {_core_of(cpu) for cpu in _allowed_cpus()}
    return max(1, min(len(cores), _container_share()))


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
    """Return the content of a system file; empty if the system does not have it."""
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
