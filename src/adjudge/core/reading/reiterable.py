"""An iterable that is regenerated for every iteration, so nothing is kept in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Reiterable(Generic[T]):
    """Calls a function for a new iterable whenever it is iterated.

    Example: ``Reiterable(lambda: read_instances("rows.csv"))``
    """

    def __init__(self, make: Callable[[], Iterable[T]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[T]:
        return iter(self._make())
