"""The provider ``learned``. Its arithmetic is loaded only when it is used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.gateway.providers.base import Connection
from adjudge.core.gateway.registry import ProviderSpec
from adjudge.features.local.libraries import import_numpy

if TYPE_CHECKING:
    from adjudge.features.learning.provider import LearnedModel

LEARNED = ProviderSpec(
    "learned",
    "adjudge.features.learning.models:open_learned",
    example="judge.json",
)


def open_learned(connection: Connection) -> LearnedModel:
    """Open the judge whose file a model id names."""
    import_numpy()
    from adjudge.features.learning.provider import LearnedModel

    return LearnedModel(Path(connection.model).expanduser(), connection.name)
