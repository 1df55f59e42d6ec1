"""One question and the answers it accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjudge.errors import SetupError


@dataclass(frozen=True)
class CriteriaOption:
    """One answer a judge may give."""

    name: str
    description: str = ""
    score: float | None = None


@dataclass(frozen=True)
class Criteria:
    """One question, its options, the field it judges and the fields it may read."""

    name: str
    description: str
    options: Sequence[CriteriaOption]
    to_evaluate_field: str = "response"
    context_fields: Sequence[str] | None = None
    """None: every other field of the instance is context; empty: none is."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))
        if self.context_fields is not None:
            object.__setattr__(self, "context_fields", tuple(self.context_fields))
        _check_options(self.name, [option.name for option in self.options])

    @property
    def option_names(self) -> tuple[str, ...]:
        """The offered answers in the order the criteria lists them."""
        return tuple(option.name for option in self.options)

    def option(self, name: str) -> CriteriaOption:
        """The option called ``name``."""
        return next(option for option in self.options if option.name == name)


def _check_options(criteria: str, names: list[str]) -> None:
    if not names:
        raise SetupError(f"criteria {criteria!r} offers no options: give it at least two")
    for name in names:
        if not name.strip():
            raise SetupError(f"criteria {criteria!r} has an option with an empty name")
        if names.count(name) > 1:
            raise SetupError(f"criteria {criteria!r} offers the option {name!r} twice")
