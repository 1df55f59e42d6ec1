"""The unitxt package: loading it quietly, and our models as its engine."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, TypeVar, runtime_checkable

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.inference_engine import ENGINE_THREAD, InferenceEngine
from adjudge.errors import SetupError

T = TypeVar("T")


class UnitxtOption(Protocol):
    name: str
    description: str


class UnitxtCriteria(Protocol):
    name: str
    description: str
    prediction_field: str | None
    context_fields: str | Sequence[str] | Mapping[str, str] | None


@runtime_checkable
class UnitxtOptions(Protocol):
    """A unitxt criterion with options."""

    options: Sequence[UnitxtOption]
    option_map: Mapping[str, float] | None


class _Gate:
    """A lock around unitxt, which is not thread-safe.

    Only one thread is inside at a time; it leaves while it waits for its model.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bars: ModuleType | None = None

    def inside(self) -> AbstractContextManager[None]:
        """Enter unitxt exclusively, with its per-text progress bars turned off."""
        return _between(self._enter, self._leave)

    def outside(self) -> AbstractContextManager[None]:
        """Release the lock for the duration of the block."""
        return _between(self._leave, self._enter)

    def _enter(self) -> None:
        self._lock.acquire()
        bars = import_module("datasets.utils.tqdm")
        is_set_by_user = (
            import_module("datasets.config").HF_DATASETS_DISABLE_PROGRESS_BARS is not None
        )
        self._bars = None if is_set_by_user or bars.are_progress_bars_disabled() else bars
        if self._bars:
            self._bars.disable_progress_bars()

    def _leave(self) -> None:
        if self._bars:
            self._bars.enable_progress_bars()
        self._lock.release()


@contextmanager
def _between(before: Callable[[], None], after: Callable[[], None]) -> Iterator[None]:
    before()
    try:
        yield
    finally:
        after()


GATE = _Gate()


@light_dataclass(frozen=True)
class Package:
    judges: ModuleType
    constants: ModuleType
    settings: Any
    engine: type[InferenceEngine]
    own_engine: Callable[..., Any]


@cache
def unitxt_package() -> Package:
    """Load unitxt on first use."""
    # unitxt seeds the program's random numbers on import
    state = random.getstate()
    try:
        judges = import_module("unitxt.llm_as_judge")
    except ImportError as error:
        raise SetupError(
            "this needs the unitxt package: pip install 'adjudge[unitxt]' ({error})", error=error
        ) from error
    finally:
        random.setstate(state)
    for handler in logging.getLogger("unitxt").handlers:
        handler.addFilter(_passes_filter)
    base = import_module("unitxt.inference").InferenceEngine
    constants, settings = (
        import_module("unitxt.llm_as_judge_constants"),
        import_module("unitxt.settings_utils"),
    )
    return Package(judges, constants, settings.get_settings(), base, _own_engine(base))


def _passes_filter(record: logging.LogRecord) -> bool:
    # unitxt logs every step to standard output; in our threads, only warnings and errors pass
    return record.threadName != ENGINE_THREAD or record.levelno >= logging.WARNING


def _own_engine(base: type[InferenceEngine]) -> Callable[..., object]:
    """Return a unitxt engine class that calls one of our models."""

    class AdjudgeInferenceEngine(base):  # type: ignore[misc, valid-type]
        """Sends requests through the ballot's call."""

        label = "adjudge"

        def prepare_engine(self) -> None:
            """Do nothing."""

        def get_engine_id(self) -> str:
            """Return the engine's name in unitxt's results."""
            return "adjudge"

        def _infer(
            self,
            dataset: Sequence[Mapping[str, object]],
            return_meta_data: bool = False,  # noqa: ARG002
        ) -> list[str]:
            chats = [instance["source"] for instance in dataset]
            with GATE.outside():
                return [self.call.answer(messages) for messages in chats]

    return AdjudgeInferenceEngine
