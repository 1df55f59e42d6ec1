"""Ready-made aspects for the aspect critic."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from adjudge.errors import SetupError


def aspect(name: str, language: str) -> str:
    """Return the definition of the aspect ``name`` in ``language``; raise a SetupError if there is
    none.
    """
    definitions = aspects(language)
    if name not in definitions:
        raise SetupError(
            "there is no ready-made aspect named {name!r}; known: {known}",
            name=name,
            known=", ".join(definitions),
        )
    return definitions[name]


@cache
def aspects(language: str) -> dict[str, str]:
    path = Path(__file__).parent / "data" / f"aspects.{language}.json"
    if not path.is_file():
        raise SetupError(
            "there are no ready-made aspects for language {language!r}", language=language
        )
    definitions: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return definitions
