"""A property of every one of many things as one test, which names the thing that lacks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def for_every(
    values: Iterable[Any], label: Callable[[Any], str] = str
) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    """Make a test of ``check``: it must hold for every one of ``values``."""
    given = list(values)

    def made(check: Callable[[Any], None]) -> Callable[[], None]:
        def test() -> None:
            assert given, "nothing to check"
            for value in given:
                try:
                    check(value)
                except BaseException as error:
                    error.add_note(f"of {label(value)}")
                    raise

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        test.__module__ = check.__module__
        return test

    return made
