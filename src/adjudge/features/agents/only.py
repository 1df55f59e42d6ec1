"""``only``: a measure that is taken where another one says so."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.options import match_option
from adjudge.errors import SetupError
from adjudge.features.agents.measures import CHECKLIST, REPORTED, check_measures, measure_criteria
from adjudge.features.agents.result import MeasureResult
from adjudge.features.agents.rules import RULES

_COMPARED = re.compile(r"\s*(<=|>=|<|>|=)?\s*(-?\d+(?:\.\d+)?)\s*")
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}


@dataclass(frozen=True, slots=True)
class MeasureCondition:
    """What a measure must say."""

    measure: str
    options: tuple[str, ...] = ()
    compare: str = "="
    number: float = 0.0

    def holds(self, result: MeasureResult) -> bool:
        """Whether it does; where it has said nothing, it does not."""
        if self.options:
            return result.option in self.options
        score = result.score
        return score is not None and _COMPARE[self.compare](score, self.number)


def read_conditions(given: Mapping[str, JsonValue], language: str) -> tuple[MeasureCondition, ...]:
    """``{goal: Not reached}``, ``{errors: ">0"}``, ``{calls: false}``."""
    check_measures(list(given))
    return tuple(_condition(name, said, language) for name, said in given.items())


def _condition(name: str, said: JsonValue, language: str) -> MeasureCondition:
    if name not in RULES and name not in (CHECKLIST, REPORTED):
        offered = measure_criteria(name, language).option_names
        wanted = [said] if not isinstance(said, Sequence) or isinstance(said, str) else said
        found = [match_option(one, offered) for one in wanted]
        if None in found or not found:
            raise SetupError(
                "only: {name} is one of {options}, not {said!r}",
                name=name,
                options=", ".join(offered),
                said=said,
            )
        return MeasureCondition(name, tuple(one for one in found if one))
    written = str(float(said)) if isinstance(said, bool) else _TRUTHS.get(str(said), str(said))
    compared = _COMPARED.fullmatch(written)
    if compared is None:
        raise SetupError(
            'only: {name} is compared with a number, such as ">0" or false, not {said!r}',
            name=name,
            said=said,
        )
    return MeasureCondition(name, (), compared[1] or "=", float(compared[2]))


_TRUTHS = {"true": "1", "false": "0"}
