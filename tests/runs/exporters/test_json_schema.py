"""The published schema of a judgment and its record say the same."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge.runs.exporters.json_schema import results_schema
from support.results import RESULTS

OF_THE_RECORD = (
    "Judgment",
    "Vote",
    "Step",
    "OrderCheck",
    "SystemResult",
    "Evidence",
    "Sentence",
    "Measure",
    "Part",
    "Blame",
)


@cache
def validator(*, strict: bool) -> jsonschema.Draft202012Validator:
    """Of a judgment. ``strict``: nothing may be said that the schema does not name."""
    found: dict[str, Any] = results_schema()["$defs"]  # type: ignore[assignment]
    for name in OF_THE_RECORD if strict else ():
        found[name]["additionalProperties"] = False
    return jsonschema.Draft202012Validator({"$ref": "#/$defs/Judgment", "$defs": found})


@pytest.mark.parametrize("kind", [kind for kind in RESULTS if kind != "of another's"])
@settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_kind_of_judgment_says_what_is_published_and_nothing_else(
    kind: str, data: st.DataObject
) -> None:
    record = data.draw(RESULTS[kind]).record("judge", 2, votes=True)
    said = json.loads(json.dumps(record.to_dict()))
    validator(strict=True).validate(said)


@pytest.mark.parametrize(
    ("key", "value"),
    [("score", "1"), ("status", "fine"), ("votes_valid", None), ("scores", {"a": "b"})],
)
def test_what_no_judgment_says_does_not_fit(key: str, value: object) -> None:
    required: dict[str, object] = {
        "judge": "j",
        "row": 1,
        "id": None,
        "fields": {},
        "criteria": "c",
        "status": "scored",
    }
    required |= {
        "score": 1,
        "explanation": None,
        "reason": None,
        "agreement": None,
        "tie": False,
        "fallback": None,
    }
    required |= {"low_confidence": False, "votes_requested": 1, "votes_valid": 1, "notes": []}
    validator(strict=False).validate(required)
    with pytest.raises(jsonschema.ValidationError):
        validator(strict=False).validate({**required, key: value})
