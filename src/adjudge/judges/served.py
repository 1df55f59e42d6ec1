"""What judges that ask models share: the models and their temperature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from adjudge.domain.results import Result
from adjudge.gateway.open import ModelLike, OpenModel, open_panel
from adjudge.judges.case import Judge

R = TypeVar("R", bound=Result)


@dataclass(kw_only=True, eq=False)
class Served(Judge[R], Generic[R]):
    """A judge with a panel of models behind it.

    Parameters:
        inference_engine: one model or a panel: ids, model objects or functions ``prompt -> text``; None is the embedded model.
        temperature: by default the model's own setting, else 0 for one vote and 1 for several.
    """

    inference_engine: ModelLike | Sequence[ModelLike] | None = field(default=None, kw_only=False)
    temperature: float | None = None
    _panel: Mapping[str, OpenModel] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._panel = open_panel(self.inference_engine)

    @property
    def panel(self) -> Mapping[str, OpenModel]:
        """The models by the names on the ballots."""
        return self._panel
