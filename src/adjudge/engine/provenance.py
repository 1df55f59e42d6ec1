"""What a run stores about its judges."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache

from adjudge.domain.criteria import Criteria
from adjudge.domain.frozen import plain
from adjudge.gateway.open import OpenModel
from adjudge.pooling import VERSION as POOLING
from adjudge.prompts.render import wordings
from adjudge.verdicts import VERSION as READER


def provenance(
    judge: str, settings: Mapping[str, object], models: Mapping[str, OpenModel], criteria: Iterable[Criteria], language: str
) -> dict[str, object]:
    """Everything that decides what is asked and what is made of the answers."""
    return {
        "judge": judge,
        "settings": plain_settings(settings),
        "models": {name: _model(model) for name, model in models.items()},
        "criteria": [plain(one) for one in criteria],
        "templates": wordings(language),
        "versions": {**_installed(), "reader": READER, "pooling": POOLING},
    }


@cache
def _installed() -> dict[str, str]:
    import platform
    from importlib.metadata import version

    return {"adjudge": version("adjudge"), "python": platform.python_version()}


def plain_settings(settings: Mapping[str, object]) -> object:
    """Settings as JSON-ready data; of anything else, the name of its type."""
    return json.loads(json.dumps(plain(settings), default=lambda thing: type(thing).__name__))


def _model(model: OpenModel) -> dict[str, object]:
    return {"identity": model.identity, "temperature": model.temperature, "seed": model.seed}
