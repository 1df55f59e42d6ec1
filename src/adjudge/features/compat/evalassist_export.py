"""Test cases as EvalAssist reads and writes them: content of format version 2."""

from __future__ import annotations

import json
from collections.abc import Sequence

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import nonempty, some_of
from adjudge.core.domain.instance import GivenFields
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.domain.verdict import TIE, letter
from adjudge.runs.exporters.exported import in_one

VERSION = 2
OWN = "adjudge"
"""Under this key stands what EvalAssist has no place for, so that it comes back."""
POOLED = "pooled"
"""The key of a result that was made of all votes, also those in the reversed order."""
# What stands before the slash of a model → what EvalAssist calls the provider.
_PROVIDERS = {
    **{
        "openai": "open-ai",
        "ollama": "ollama",
        "azure": "azure",
        "watsonx": "watsonx",
        "replicate": "replicate",
    },
    **{"together": "together-ai", "bedrock": "aws", "vertex": "vertex-ai"},
}
_ANY_PROVIDER = "open-ai-like"
# EvalAssist's own judge: it asks as ours do.
_JUDGE = "eval_assist"


def case_out(name: str, content: JsonObject) -> JsonDict:
    """Return a test case as EvalAssist's file; EvalAssist assigns its id on import."""
    content_data = {
        "pipeline": content.get("evaluator"),
        "syntheticGenerationConfig": None,
        **content,
        "contentFormatVersion": VERSION,
    }
    return {
        "name": name,
        "content": json.dumps(content_data, ensure_ascii=False),
        "user_id": -1,
        "id": -1,
    }


def criteria_out(criteria: Criteria, context: Sequence[str], *, compares: bool) -> JsonDict:
    """Convert criteria to EvalAssist's form."""
    options = [some_of(option, "name", "description", "score") for option in criteria.options]
    return {
        "name": criteria.name,
        "description": criteria.definition,
        **({} if compares else {"options": options}),
        "predictionField": criteria.to_evaluate_field,
        # criteria that name no context read all of it here; in EvalAssist they would read none
        "contextFields": list(
            context if criteria.context_fields is None else criteria.context_fields
        ),
        **({} if criteria.higher_is_better else {OWN: {"higher_is_better": False}}),
    }


def instance_out(id: str, fields: GivenFields, judged_field: str, *, compares: bool) -> JsonDict:
    """Convert a row to EvalAssist's form, without a judgment or an expected result.

    Lists of context texts are joined into one text; the original list is kept in the metadata.
    """
    lists = {
        name: list(value)
        for name, value in fields.items()
        if name != judged_field and not isinstance(value, str)
    }
    answer = fields.get(judged_field, "")
    return {
        "id": id,
        "contextVariables": [
            {"name": name, "value": in_one(value)}
            for name, value in fields.items()
            if name != judged_field
        ],
        "expectedResult": "",
        **(
            {"responses": [answer] if isinstance(answer, str) else list(answer)}
            if compares
            else {"response": in_one(answer)}
        ),
        "result": None,
        **({"metadata": {OWN: {"lists": lists}}} if lists else {}),
    }


def examples_out(criteria: Criteria, *, compares: bool) -> list[JsonDict]:
    """Return the criteria's examples, with their options as expected results."""
    examples = []
    for number, example in enumerate(criteria.examples, 1):
        instance = instance_out(
            f"example {number}", example.fields, criteria.to_evaluate_field, compares=compares
        )
        about = instance.get("metadata")
        extra = {
            **object_in(object_in(about).get(OWN)),
            **nonempty(explanation=example.explanation),
        }
        expected = _place(example.option) if compares else example.option
        examples.append(
            {
                **instance,
                "expectedResult": expected,
                **({"metadata": {OWN: extra}} if extra else {}),
            }
        )
    return examples


def evaluator_out(models: Sequence[str], *, compares: bool) -> JsonDict | None:
    """Return the evaluator; None without models, so that EvalAssist's user chooses."""
    if not models:
        return None
    provider = _PROVIDERS.get(models[0].partition("/")[0], _ANY_PROVIDER)
    return {
        "name": ", ".join(models),
        "type": "pairwise" if compares else "direct",
        "provider": provider,
    }


def judge_out(settings: JsonObject, *, compares: bool) -> JsonDict:
    """Convert the judge's settings.

    Settings that both tools have get EvalAssist's names; the others go under our own key, which
    EvalAssist's judge ignores.
    """
    votes = settings.get("self_consistency")
    params: JsonDict = {
        "check_positional_bias": bool(settings.get("check_positional_bias")),
        "self_consistency": votes if isinstance(votes, int) and not isinstance(votes, bool) else 1,
    }
    if not compares:
        persona = settings.get("judge_description_prompt")
        params |= {
            "generate_synthetic_persona": bool(settings.get("generate_synthetic_persona")),
            "generate_feedback": bool(settings.get("generate_feedback")),
            "on_generation_failure": "raise",  # never a random option
            **nonempty(judge_description_prompt=persona),
        }
    own_settings = {
        "temperature": settings.get("temperature"),
        "tie_enabled": settings.get("tie_enabled") is not False,
    }
    own_settings |= {"language": settings.get("language") or "en"}
    usual = {"temperature": None, "tie_enabled": True, "language": "en"}
    more = {name: value for name, value in own_settings.items() if value != usual[name]}
    return {"name": _JUDGE, "params": params, **({OWN: more} if more else {})}


def _place(label: str) -> int | str:
    """Return the index of a response from its letter; a tie, or an unknown label, is returned
    unchanged.
    """
    return (
        TIE
        if label == TIE
        else next((place for place in range(26) if letter(place) == label), label)
    )
