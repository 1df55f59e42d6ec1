"""The ready-made aspects of the aspect critic."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from adjudge.errors import SetupError


def aspect(name: str, language: str) -> str:
    """The definition of the aspect ``name`` in ``language``."""
    known = aspects(language)
    if name not in known:
        raise SetupError(
            "no ready-made aspect is called {name!r}; known: {known}",
            name=name,
            known=", ".join(known),
        )
    return known[name]


@cache
def aspects(language: str) -> dict[str, str]:
    path = Path(__file__).parent / "data" / f"aspects.{language}.json"
    if not path.is_file():
        raise SetupError(
            "there are no ready-made aspects for language {language!r}", language=language
        )
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found
