"""``/v1/systemone``, ``/v1/decisions`` and ``/v1/models``: typed questions about one state, for the
clients of TypeSafe and OpenAI.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, is_object
from adjudge.core.gateway.decisions.format import DecisionFormat, InvalidRequest
from adjudge.core.gateway.decisions.openai import OpenAIDecisions
from adjudge.core.gateway.decisions.systemone import SystemOne
from adjudge.errors import PromptTooLong, RateLimited
from adjudge.messages import Message
from adjudge.runs.service.deciding import Decided, DecisionService, TooManyQuestions
from adjudge.web.api_guard import problem
from adjudge.web.body import body_of
from adjudge.web.json_bytes import json_bytes

ALIASES = ("jev-latest", "adjudge")
"""Names of the model that is served; TypeSafe's client asks for the first by itself."""
_FORMATS: dict[str, DecisionFormat] = {
    "/v1/systemone": SystemOne(),
    "/v1/decisions": OpenAIDecisions(),
}
_UNKNOWN_DATE = "unknown"


async def decide(request: Request, service: DecisionService, largest: int) -> Response:
    """Answer one request in the format that its path uses."""
    wire = _FORMATS[request.url.path]
    try:
        # clients of these formats may pack bodies with zstd
        body = _object(await body_of(request, largest, unpacks=True))
        model, ask = wire.decode_request(body)
        if model not in (*ALIASES, service.name):
            names = ", ".join((service.name, *ALIASES))
            message = Message(
                "no model {model!r} is served: ask for one of {known}", model=model, known=names
            )
            return problem(404, "model_not_found", str(message), parameter="model")
        decided = await run_in_threadpool(service.decide, ask)
    except InvalidRequest as error:
        return _invalid(error)
    except TooManyQuestions as error:
        return problem(413, "too_large", str(error))
    except PromptTooLong as error:
        return problem(400, "max_tokens_exceeded", str(error))
    except RateLimited as error:
        return problem(
            429,
            "rate_limited",
            str(error),
            {"retry-after": str(max(1, round(getattr(error, "retry_after", None) or 1)))},
        )
    reply = wire.encode_reply(ask, decided.reply)
    _complete(reply, body, decided, [question.name for question in ask.questions])
    return Response(json_bytes(reply), media_type="application/json")


def models(service: DecisionService) -> JsonDict:
    """Return the models to choose from: under "models" for TypeSafe's clients, under "data" for
    OpenAI's.
    """
    names = (service.name, *ALIASES)
    about = str(Message("Judges typed questions about one text, by the probabilities of options"))
    return {
        "models": [
            {"name": name, "description": about, "release_date": _UNKNOWN_DATE} for name in names
        ],
        "object": "list",
        "data": [
            {"id": name, "object": "model", "created": 0, "owned_by": "adjudge"} for name in names
        ],
    }


def _object(body: bytes) -> JsonObject:
    try:
        body_data = json.loads(body, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest((), f"the body is not JSON: {error}", "json_invalid") from error
    if not is_object(body_data):
        raise InvalidRequest((), "Input should be a valid dictionary", "dict_type")
    return body_data


def _distinct(pairs: Sequence[tuple[str, JsonValue]]) -> JsonDict:
    """Build an object. Repeated names are refused, because JSON parsers silently keep only the
    last.
    """
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidRequest((), f"the name {twice!r} appears twice in one object")
    return fields


def _complete(reply: JsonDict, body: JsonObject, decided: Decided, names: Sequence[str]) -> None:
    """Add what the formats cannot express, and restore the clients' names for questions."""
    answers = reply["answers"]
    if is_object(answers):
        for name, note in zip(names, decided.notes, strict=True):
            if note and name in answers:
                cast("JsonDict", answers[name])["x_adjudge"] = dict(note)
        return
    questions = cast("Sequence[JsonObject]", body["questions"])
    for question, answer in zip(questions, cast("Sequence[JsonDict]", answers), strict=True):
        # inside, questions have names that we gave
        answer["name"] = question.get("name")


def _invalid(error: InvalidRequest) -> Response:
    """Describe an invalid request to pydantic's clients (``detail``) and OpenAI's (``error``)."""
    place: list[JsonValue] = ["body", *error.place]
    detail: list[JsonValue] = [{"loc": place, "msg": error.message, "type": error.kind}]
    parameter = ".".join(map(str, error.place)) or None
    return problem(422, "invalid_request_error", error.message, detail=detail, parameter=parameter)
