"""The models that a judge asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from adjudge.domain.ballot import Ballot
from adjudge.domain.frozen import FrozenDict
from adjudge.engine.ask import requests_for
from adjudge.gateway.open import OpenModel, open_panel
from adjudge.judges.unitxt_engine import EngineLike, with_engines

_ROOM_FOR_A_PANEL = 2048
"""Items that may wait for one model of a panel while the others go on."""


@dataclass(frozen=True, eq=False)
class ModelPanel(Mapping[str, OpenModel]):
    """Models by the names on the ballots, as they were when the judge was made."""

    models: Mapping[str, OpenModel] = field(default_factory=FrozenDict)

    @classmethod
    def of(cls, models: EngineLike | Sequence[EngineLike] | None) -> ModelPanel:
        """What a caller named, ready to be asked; None is the embedded model."""
        return cls(FrozenDict(open_panel(with_engines(models))))

    def __getitem__(self, name: str) -> OpenModel:
        return self.models[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.models)

    def __len__(self) -> int:
        return len(self.models)

    @property
    def width(self) -> int:
        """Items under way at once: enough to keep every model busy while others wait for a repair or a retry."""
        busy = 2 * sum(self.at_once.values())
        return busy if len(self) < 2 else max(busy, _ROOM_FOR_A_PANEL)

    @property
    def at_once(self) -> Mapping[str, int]:
        """Ballots that each model may have under way at once."""
        return {name: model.max_concurrency for name, model in self.items()}

    @cached_property
    def identities(self) -> Mapping[str, str]:
        """What each model is, wherever it is served."""
        return {name: model.identity for name, model in self.items()}

    def has_reply(self, ballot: Ballot) -> bool:
        """Whether a cache would answer the ballot."""
        model = self.get(ballot.model)
        return model is not None and model.keeps_replies and all(map(model.has_reply, requests_for(ballot)))


NO_MODELS = ModelPanel()
"""That of a judge that asks nobody."""
