"""What onnxruntime and numpy stop with, as sentences that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adjudge.errors import ModelError, SetupError
from adjudge.messages import Message

_NO_MEMORY = Message(
    "there is not enough memory for the embedded model: free some, or judge fewer and shorter "
    "texts at a time"
)
_ALLOCATING = ("alloc", "out of memory")


@contextmanager
def said_plainly() -> Iterator[None]:
    """A ModelError for whatever the libraries raise while they compute; errors of ours go through
    as they are.
    """
    try:
        yield
    except MemoryError as error:
        raise ModelError(_NO_MEMORY) from error
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        raise ModelError(_sentence(str(error))) from error


@contextmanager
def damage_named(weights: Path) -> Iterator[None]:
    """A ModelError that names the file where it does not hold what a model needs."""
    try:
        with said_plainly():
            yield
    except SetupError:  # what would read it is not installed
        raise
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise ModelError(
            "{weights} is damaged ({error}): delete it, and run 'adjudge models pull' again",
            weights=weights,
            error=error,
        ) from error


def _sentence(said: str) -> str:
    if any(word in said.lower() for word in _ALLOCATING):
        return _NO_MEMORY
    return Message(
        "onnxruntime stopped ({said}): run 'adjudge models pull' again, and if it stays so, "
        "pip install --upgrade 'adjudge[local]'",
        said=said.strip().splitlines()[0] if said.strip() else Message("without a word"),
    )
