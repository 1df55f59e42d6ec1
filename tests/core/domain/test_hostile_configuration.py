"""Configurations in a run folder that adjudge did not write."""

from __future__ import annotations

import pytest

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration, criteria_from_json
from adjudge.errors import RunError


def test_steps_nested_without_end_are_not_followed() -> None:
    stored: JsonDict = {"judge": "Cascade", "models": {"last": {}}}
    for number in range(5000):
        stored = {"judge": "Cascade", "models": {f"m{number}": {}}, "steps": [stored]}
    configuration = JudgeConfiguration.of(stored)
    assert configuration.step_names == ("m4998",)
    assert configuration.steps[0].steps == ()


@pytest.mark.parametrize("field", ["options", "examples"])
def test_parts_of_criteria_with_an_unknown_field_are_an_error_of_the_run(field: str) -> None:
    with pytest.raises(RunError, match="criteria that adjudge did not write"):
        criteria_from_json({"name": "c", "description": "?", field: [{"unknown": 1}]})
