"""Test cases as EvalAssist reads and writes them: content of format version 2."""

from __future__ import annotations

import json
from collections.abc import Sequence

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import nonempty, some_of
from adjudge.core.domain.instance import GivenFields
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.domain.verdict import TIE, letter
from adjudge.runs.exporters.other_tools import in_one

VERSION = 2
OWN = "adjudge"
"""Under this key stands what EvalAssist has no place for, so that it comes back."""
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
"""What stands before the slash of a model → what EvalAssist calls the provider."""
_ANY_PROVIDER = "open-ai-like"
_JUDGE = "eval_assist"
"""EvalAssist's own judge: it asks as ours do."""


def case_out(name: str, content: JsonObject) -> JsonDict:
    """The file of a test case, which gets its number where it is brought in."""
    whole = {
        "pipeline": content.get("evaluator"),
        "syntheticGenerationConfig": None,
        **content,
        "contentFormatVersion": VERSION,
    }
    return {"name": name, "content": json.dumps(whole, ensure_ascii=False), "user_id": -1, "id": -1}


def criteria_out(criteria: Criteria, context: Sequence[str], *, compares: bool) -> JsonDict:
    """Ours that name no context read all of it; EvalAssist's would read none."""
    options = [some_of(one, "name", "description", "score") for one in criteria.options]
    return {
        "name": criteria.name,
        "description": criteria.definition,
        **({} if compares else {"options": options}),
        "predictionField": criteria.to_evaluate_field,
        "contextFields": list(
            context if criteria.context_fields is None else criteria.context_fields
        ),
        **({} if criteria.higher_is_better else {OWN: {"higher_is_better": False}}),
    }


def instance_out(id: str, fields: GivenFields, judged: str, *, compares: bool) -> JsonDict:
    """A row that nobody judged and of which nobody expects anything.

    Texts in a list stand in one, and beside it as they are.
    """
    lists = {
        name: list(value)
        for name, value in fields.items()
        if name != judged and not isinstance(value, str)
    }
    answer = fields.get(judged, "")
    return {
        "id": id,
        "contextVariables": [
            {"name": name, "value": in_one(value)}
            for name, value in fields.items()
            if name != judged
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
    """The texts that a judge is shown before its own, with what they got."""
    found = []
    for number, one in enumerate(criteria.examples, 1):
        shown = instance_out(
            f"example {number}", one.fields, criteria.to_evaluate_field, compares=compares
        )
        about = shown.get("metadata")
        own = {
            **object_in(object_in(about).get(OWN)),
            **nonempty(explanation=one.explanation),
        }
        expected = _place(one.option) if compares else one.option
        found.append(
            {**shown, "expectedResult": expected, **({"metadata": {OWN: own}} if own else {})}
        )
    return found


def evaluator_out(models: Sequence[str], *, compares: bool) -> JsonDict | None:
    """Who is asked; None: EvalAssist's user chooses."""
    if not models:
        return None
    provider = _PROVIDERS.get(models[0].partition("/")[0], _ANY_PROVIDER)
    return {
        "name": ", ".join(models),
        "type": "pairwise" if compares else "direct",
        "provider": provider,
    }


def judge_out(settings: JsonObject, *, compares: bool) -> JsonDict:
    """How is asked: what both have, by EvalAssist's names; and what only ours has, where its judge
    does not look.
    """
    several = settings.get("self_consistency")
    params: JsonDict = {
        "check_positional_bias": bool(settings.get("check_positional_bias")),
        "self_consistency": several
        if isinstance(several, int) and not isinstance(several, bool)
        else 1,
    }
    if not compares:
        persona = settings.get("judge_description_prompt")
        params |= {
            "generate_synthetic_persona": bool(settings.get("generate_synthetic_persona")),
            "generate_feedback": bool(settings.get("generate_feedback")),
            "on_generation_failure": "raise",  # never a random option
            **nonempty(judge_description_prompt=persona),
        }
    own = {
        "temperature": settings.get("temperature"),
        "tie_enabled": settings.get("tie_enabled") is not False,
    }
    own |= {"language": settings.get("language") or "en"}
    usual = {"temperature": None, "tie_enabled": True, "language": "en"}
    more = {name: value for name, value in own.items() if value != usual[name]}
    return {"name": _JUDGE, "params": params, **({OWN: more} if more else {})}


def _place(label: str) -> int | str:
    """The letter of a response as its place."""
    return (
        TIE
        if label == TIE
        else next((place for place in range(26) if letter(place) == label), label)
    )
