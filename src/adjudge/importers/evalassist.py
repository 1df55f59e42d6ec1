"""EvalAssist: exported test cases, and their data as CSV (that by ``--as evalassist``: a bare table tells nobody what it is)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from adjudge.domain.criteria import CriteriaOption
from adjudge.domain.verdict import TIE
from adjudge.errors import RunError
from adjudge.importers.format import Format
from adjudge.importers.record import NOT_SAID, Asked, Left, Mark, Recorded, RecordedVote, by_model
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import fields_of, first, listed, mapping, number, text, without

_VERSION = 1
_RESULT = (
    "selectedOption",
    "option",
    "explanation",
    "summary",
    "score",
    "positionalBias",
    "positionalBiasOption",
    "perSystemResults",
)


def _matches(head: Head) -> bool:
    content = head.document.get("content")
    return (isinstance(content, str) and '"instances"' in content) or {"instances", "criteria"} <= head.document.keys()


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    head = file.head
    if head.form == "table":
        yield from _table(file, left)
        return
    content = _content(file)
    version = content.get("contentFormatVersion", "not said")
    left.version = f"content version {version}"
    if isinstance(version, int) and version > _VERSION:
        raise RunError(f"{file.name} is a test case of content version {version}, and versions up to {_VERSION} are read")
    left.use({"instances": "rows", "result": "votes", "expectedResult": "labels", "criteria": "criteria"})
    criteria = mapping(content.get("criteria"))
    model = _model(content)
    for place, one in enumerate(listed(content.get("instances"))):
        instance = mapping(one)
        compares = content.get("type") == "pairwise" or isinstance(instance.get("responses"), list)
        yield _row(instance, _asked(criteria, compares), criteria, model, place)


def _content(file: ForeignFile) -> Mapping[str, object]:
    inner = file.value("content")
    if not isinstance(inner, str):
        return {path[0]: value for path, value in file.walk((), tuple((name,) for name in file.head.document))}
    try:
        return mapping(json.loads(inner))
    except (ValueError, RecursionError) as error:
        raise RunError(f"{file.name}: its content is not JSON: {str(error)[:200]}") from error


def _model(content: Mapping[str, object]) -> str:
    judge, evaluator = mapping(content.get("judge")), mapping(content.get("evaluator"))
    settings = mapping(judge.get("params"))
    return (
        text(first(settings, "model", "model_name"))
        or text(first(evaluator, "name", "id"))
        or text(judge.get("name"))
        or NOT_SAID
    )


def _asked(criteria: Mapping[str, object], compares: bool) -> Asked:
    name = text(criteria.get("name")) or "criteria"
    description = text(first(criteria, "description", "criteria"))
    if compares:
        return Asked(name, description, "comparison")
    found = criteria.get("options")
    pairs = found.items() if isinstance(found, Mapping) else ((text(mapping(one).get("name")), one) for one in listed(found))
    options = [_option(key, one) for key, one in pairs]
    return Asked(name, description, options=tuple(option for option in options if option.name))


def _option(name: str, one: object) -> CriteriaOption:
    if isinstance(one, str):
        return CriteriaOption(name, one)
    return CriteriaOption(name, text(mapping(one).get("description")), number(mapping(one).get("score")))


def _row(instance: Mapping[str, object], asked: Asked, criteria: Mapping[str, object], model: str, place: int) -> Recorded:
    answer = instance.get("responses" if asked.kind == "comparison" else "response")
    responses = tuple(text(mapping(one).get("value") if isinstance(one, Mapping) else one) for one in listed(answer))
    judged = without({"predictionField": first(criteria, "predictionField", "responseVariableName")})
    return Recorded(
        judge=by_model(asked.name, model),
        asked=asked,
        fields={**fields_of(_context(instance)), "response": responses or text(answer)},
        id=text(instance.get("id")) or f"instance {place + 1}",
        votes=tuple(_votes(mapping(instance.get("result")), asked, model)),
        marks=tuple(_marks(instance.get("expectedResult"), asked)),
        more={**judged, **without(instance, "contextVariables", "response", "responses", "result", "expectedResult", "id")},
    )


def _context(instance: Mapping[str, object]) -> dict[str, object]:
    found = instance.get("contextVariables")
    if isinstance(found, Mapping):
        return dict(found)
    return {text(mapping(one).get("name")): mapping(one).get("value") for one in listed(found)}


def _votes(result: Mapping[str, object], asked: Asked, model: str) -> Iterator[RecordedVote]:
    if not result:
        return
    more = without(result, *_RESULT)
    chosen = first(result, "selectedOption", "option")
    chosen = _best(result) if chosen is None and asked.kind == "comparison" else chosen
    yield _vote(chosen, asked, text(first(result, "explanation", "summary")), number(result.get("score")), model, more=more)
    bias = mapping(result.get("positionalBias"))
    other = mapping(bias.get("result")) or (
        {"selectedOption": result["positionalBiasOption"]} if result.get("positionalBiasOption") else {}
    )
    if other:
        said = first(other, "selectedOption", "option")
        yield _vote(said, asked, text(other.get("explanation")), number(other.get("score")), model, swapped=True)


def _best(result: Mapping[str, object]) -> object:
    """The response that wins most contests, where the result names none."""
    rates = [number(mapping(one).get("winrate")) for one in listed(result.get("perSystemResults"))]
    known = [rate for rate in rates if rate is not None]
    best = [place for place, rate in enumerate(rates) if known and rate == max(known)]
    return None if not best or len(known) != len(rates) else best[0] if len(best) == 1 else TIE


def _vote(
    chosen: object,
    asked: Asked,
    why: str,
    score: float | None,
    model: str,
    *,
    swapped: bool = False,
    more: Mapping[str, object] | None = None,
) -> RecordedVote:
    answer = _answer(chosen, asked)
    if answer is None:
        return RecordedVote(model=model, swapped=swapped).failed(why or "the result names no option")
    own = score if asked.kind == "choice" else None
    return RecordedVote(answer=answer, score=own, explanation=why or None, model=model, swapped=swapped, more=more or {})


def _answer(chosen: object, asked: Asked) -> str | float | None:
    if chosen is None or chosen == "":
        return None
    if asked.kind == "choice":
        return text(chosen)
    place = number(chosen)
    return TIE if str(chosen).casefold() == TIE else None if place is None else int(place)


def _marks(expected: object, asked: Asked) -> Iterator[Mark]:
    answer = _answer(expected, asked)
    if answer is not None:
        yield Mark(answer=answer, annotator="expected")


def _table(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    """The data of a test case has no verdicts: its last column is what is judged."""
    for place, record in enumerate(file.records()):
        names = list(record)
        judged = "response" if "response" in names else names[-1]
        fields = fields_of({name: value for name, value in record.items() if name != judged})
        left.use({judged: "response"})
        yield Recorded(
            asked=Asked("quality", "Is the response good?"),
            fields={**fields, "response": text(record[judged])},
            id=f"row {place + 1}",
        )


EVALASSIST = Format("evalassist", "EvalAssist test case", "eval-assist 5a1bd42", _matches, _read)
