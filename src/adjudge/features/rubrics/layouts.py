"""Read rubrics from data: adjudge's own form, and those of HealthBench, PaperBench and BiGGen-
Bench.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.reading.values import Place, load_yaml, nearest, unique_keys
from adjudge.errors import SetupError
from adjudge.features.rubrics.rubric import (
    COMBINES,
    KINDS,
    Combine,
    Group,
    Node,
    Point,
    Rubric,
)
from adjudge.messages import Message

LAYOUTS = ("adjudge", "healthbench", "paperbench", "biggen")
BIGGEN_LEVELS = tuple(f"score{number}_description" for number in range(1, 6))
_GROUPS: Mapping[str, Combine] = {
    "any_of": "any",
    "all_of": "all",
    "at_most_one": "at most one",
    "group": "points",
}
_NUMBER = ("points", "weight")
_COMMON = ("id", "points", "weight", "category", "tags", "required")
_POINT = (*_COMMON, "text", "kind", "levels", "most", "evidence", "invert", "proposed")
_GROUP = (*_COMMON, "text", "combine", *_GROUPS)
_RUBRIC = ("points", "combine", "layout")
_MOST_DIGITS = 40


def parse_rubric(value: object) -> Rubric:
    """Return the rubric in a cell of a row or a file; raise a SetupError if it is invalid.

    >>> parse_rubric(["Names the author.", {"text": "Invents a date.", "points": -2}]).tags
    ()
    """
    if isinstance(value, Rubric):
        return value
    if isinstance(value, str) or (
        isinstance(value, tuple) and all(isinstance(part, str) for part in value)
    ):
        return _parse_text(value)
    return _parse_data(value)


@lru_cache(maxsize=1024)
def _parse_text(value: str | tuple[str, ...]) -> Rubric:
    """Parse a text once, since a judge looks at a row several times."""
    if isinstance(value, str):
        return _parse_data(_from_text(value))
    return _parse_data(
        [_from_text(part) if part.lstrip().startswith("{") else part for part in value]
    )


def _from_text(text: str) -> object:
    stripped = text.strip()
    if not stripped:
        raise SetupError("the rubric is empty")
    if stripped.startswith("- "):
        return load_yaml(stripped, Place("rubric")).value
    try:
        return json.loads(stripped, object_pairs_hook=unique_keys, parse_float=str)
    except (ValueError, RecursionError) as error:
        raise SetupError(
            "the rubric is not JSON: {error}. Write a list of points, such as "
            '[{{"text": "…", "points": 5}}]',
            error=error,
        ) from None


def _parse_data(value: object) -> Rubric:
    # numpy arrays from Parquet files become lists.
    value = getattr(value, "tolist", lambda: value)()
    if isinstance(value, Mapping):
        return _of_mapping(value)
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise SetupError(
            "a rubric must be a list of points or an object with points, not {what}",
            what=type(value).__name__,
        )
    if any(isinstance(part, Mapping) and "criterion" in part for part in value):
        return Rubric(_healthbench(value), "healthbench")
    return Rubric(Group(id="rubric", parts=_parts(value, ""), combine="points"))


def _of_mapping(value: JsonObject) -> Rubric:
    if "requirements" in value:
        root = _paperbench(value, "root")
        if isinstance(root, Point):
            root = Group(id="rubric", parts=(root,), combine="mean")
        return Rubric(root, "paperbench")
    if any(name in value for name in BIGGEN_LEVELS):
        return Rubric(_biggen(value), "biggen")
    if "rubrics" in value:
        return parse_rubric(value["rubrics"])
    value = {name: part for name, part in value.items() if part is not None}
    _refuse_unknown(value, _RUBRIC, Message("the rubric"))
    if "points" not in value:
        raise SetupError("the rubric has no key 'points' with a list of points")
    listed = value["points"]
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise SetupError("the rubric's 'points' must be a list of points")
    combine = _combine(value.get("combine", "points"), Message("the rubric"))
    layout = str(value.get("layout", "adjudge"))
    if layout not in LAYOUTS:
        raise SetupError(
            "unknown rubric layout {layout!r}; known: {layouts}",
            layout=layout,
            layouts=", ".join(LAYOUTS),
        )
    return Rubric(Group(id="rubric", parts=_parts(listed, ""), combine=combine), layout)


# -- our own form ----------------------------------------------------------------------


def _parts(listed: Sequence[object], above: str) -> tuple[Node, ...]:
    return tuple(_node(part, f"{above}{number}") for number, part in enumerate(listed, 1))


def _node(value: object, number: str) -> Node:
    where = Message("point {number}", number=number)
    if isinstance(value, str):
        return Point(id=number, text=value)
    if not isinstance(value, Mapping):
        raise SetupError(
            "{where}: a point must be a string or an object, not {what}",
            where=where,
            what=type(value).__name__,
        )
    value = _without_empty(value)
    group = next((name for name in _GROUPS if name in value), None)
    return _point(value, number, where) if group is None else _group(value, group, number, where)


def _without_empty(value: JsonObject) -> JsonObject:
    """Return the keys that have a value: in tables, an object has None for keys that only others
    have. A number that is left empty stays, since its default would be a guess.
    """
    has_number = any(value.get(name) is not None for name in _NUMBER)
    return {
        name: part
        for name, part in value.items()
        if part is not None or (name in _NUMBER and not has_number)
    }


def _point(value: JsonObject, number: str, where: Message) -> Point:
    _refuse_unknown(value, _POINT, where)
    kind = str(value.get("kind") or ("graded" if value.get("levels") else "met"))
    if kind not in KINDS:
        raise SetupError(
            "{where}: kind must be one of {kinds}, not {kind!r}",
            where=where,
            kinds=", ".join(KINDS),
            kind=kind,
        )
    return Point(
        id=_id(value, number, where),
        text=_text(value.get("text"), "text", where),
        points=_points(value, where),
        kind=kind,
        levels=_texts(value.get("levels"), "levels", where),
        most=_whole(value.get("most", 0), "most", where),
        tags=_tags(value, where),
        required=_flag(value.get("required", False), "required", where),
        evidence=_flag(value.get("evidence", False), "evidence", where),
        invert=_flag(value.get("invert", False), "invert", where),
        proposed=_flag(value.get("proposed", False), "proposed", where),
    )


def _group(value: JsonObject, name: str, number: str, where: Message) -> Group:
    _refuse_unknown(value, _GROUP, where)
    if more := [group_key for group_key in _GROUPS if group_key in value and group_key != name]:
        raise SetupError(
            "{where}: a group cannot have both {first} and {second}: make two groups",
            where=where,
            first=name,
            second=more[0],
        )
    listed = value[name]
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise SetupError("{where}: {name!r} must be a list of points", where=where, name=name)
    combine = _GROUPS[name]
    if "combine" in value:
        if name != "group":
            raise SetupError(
                "{where}: {name} already says how the group combines: leave 'combine' out",
                where=where,
                name=name,
            )
        combine = _combine(value["combine"], where)
    return Group(
        id=_id(value, number, where),
        parts=_parts(listed, f"{number}."),
        combine=combine,
        points=_points(value, where),
        text=str(value.get("text") or ""),
        tags=_tags(value, where),
        required=_flag(value.get("required", False), "required", where),
    )


def _refuse_unknown(value: JsonObject, known: Sequence[str], where: Message) -> None:
    for name in value:
        if name not in known:
            raise SetupError(
                "{where}: unknown key {name!r}; {nearest}",
                where=where,
                name=name,
                nearest=nearest(str(name), known),
            )


def _id(value: JsonObject, number: str, where: Message) -> str:
    id_value = value.get("id")
    if id_value is None:
        return number
    if (
        isinstance(id_value, bool)
        or not isinstance(id_value, str | int)
        or not str(id_value).strip()
    ):
        raise SetupError("{where}: 'id' must be a string", where=where)
    return str(id_value).strip()


def _points(value: JsonObject, where: Message) -> Fraction:
    if "points" in value and "weight" in value:
        raise SetupError(
            "{where}: 'points' and 'weight' mean the same: keep only one of them", where=where
        )
    number = value.get("points", value.get("weight", 1))
    return exact(number, where)


def exact(value: object, where: Message) -> Fraction:
    """Return a number exactly as written, 0.1 as one tenth; raise a SetupError for
    anything else.
    """
    text = str(value).strip().replace("−", "-")
    is_number = isinstance(value, int | float | str) and not isinstance(value, bool)
    # whatever fails here, the error below says what was written
    with suppress(ValueError, ZeroDivisionError, OverflowError):
        if is_number and len(text) <= _MOST_DIGITS and math.isfinite(float(text)):
            number = Fraction(text)
            if abs(number) <= 10**9 and (not number or abs(number) >= Fraction(1, 10**9)):
                return number
    raise SetupError(
        "{where}: 'points' must be a finite number, not {value!r}", where=where, value=value
    )


def _text(value: object, name: str, where: Message) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SetupError("{where}: {name!r} must be a non-empty string", where=where, name=name)
    return value.strip()


def _texts(value: object, name: str, where: Message) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(listed, Sequence):
        raise SetupError("{where}: {name!r} must be a list of strings", where=where, name=name)
    return tuple(_text(part, name, where) for part in listed)


def _whole(value: object, name: str, where: Message) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not text.isdecimal() or len(text) > 6:
        raise SetupError("{where}: {name!r} must be a whole number", where=where, name=name)
    return int(text)


def _flag(value: object, name: str, where: Message) -> bool:
    word = str(value).strip().casefold()
    if word not in ("true", "false", "yes", "no", ""):
        raise SetupError("{where}: {name!r} must be true or false", where=where, name=name)
    return word in ("true", "yes")


def _tags(value: JsonObject, where: Message) -> tuple[str, ...]:
    tags = (
        *_texts(value.get("category") or None, "category", where),
        *_texts(value.get("tags") or None, "tags", where),
    )
    return _distinct(tags, where)


def _distinct(tags: tuple[str, ...], where: Message) -> tuple[str, ...]:
    if twice := [tag for tag in tags if tags.count(tag) > 1]:
        raise SetupError("{where}: the tag {tag!r} is listed twice", where=where, tag=twice[0])
    return tags


def _combine(value: object, where: Message) -> Combine:
    rule = str(value).replace("_", " ")
    if rule not in COMBINES:
        raise SetupError(
            "{where}: combine must be one of {combines}, not {value!r}",
            where=where,
            combines=", ".join(COMBINES),
            value=value,
        )
    return rule


# -- published layouts -----------------------------------------------------------------


def _healthbench(listed: Sequence[object]) -> Group:
    """Read ``{criterion, points, tags}``: points may be below 0 and have no default."""
    parts = []
    for number, part in enumerate(listed, 1):
        where = Message("point {number}", number=str(number))
        if not isinstance(part, Mapping) or "points" not in part:
            raise SetupError(
                "{where}: HealthBench's layout needs 'criterion' and 'points'", where=where
            )
        parts.append(
            Point(
                id=str(number),
                text=_text(part.get("criterion"), "criterion", where),
                points=exact(part["points"], where),
                tags=_distinct(_texts(part.get("tags"), "tags", where), where),
            )
        )
    return Group(id="rubric", parts=tuple(parts), combine="points")


def _paperbench(value: object, number: str) -> Node:
    """Read ``{id, requirements, weight, sub_tasks, task_category}``: a tree of means whose weights
    have no default.
    """
    where = Message("point {number}", number=number)
    if not isinstance(value, Mapping) or "requirements" not in value or "weight" not in value:
        raise SetupError(
            "{where}: PaperBench's layout needs 'requirements' and 'weight'", where=where
        )
    weight = exact(value["weight"], where)
    if weight < 0:
        raise SetupError("{where}: PaperBench's weights must not be below 0", where=where)
    tags = tuple(
        str(value[name])
        for name in ("task_category", "finegrained_task_category")
        if value.get(name)
    )
    below = value.get("sub_tasks") or ()
    if not isinstance(below, Sequence) or isinstance(below, str):
        raise SetupError("{where}: 'sub_tasks' must be a list", where=where)
    id = _id(value, number, where)
    text = _text(value["requirements"], "requirements", where)
    if not below:
        return Point(id=id, text=text, points=weight, tags=_distinct(tags, where))
    parts = tuple(_paperbench(part, f"{number}.{nth}") for nth, part in enumerate(below, 1))
    return Group(id=id, parts=parts, combine="mean", points=weight, text=text, tags=tags)


def _biggen(value: JsonObject) -> Group:
    """Read ``{criteria, score1_description … score5_description}``: one point graded 1 to 5."""
    where = Message("the rubric")
    levels = tuple(_text(value.get(name), name, where) for name in BIGGEN_LEVELS)
    text = _text(value.get("criteria"), "criteria", where)
    point = Point(id="1", text=text, kind="graded", levels=levels)
    return Group(id="rubric", parts=(point,), combine="points")


# -- back to data ----------------------------------------------------------------------


def rubric_data(rubric: Rubric) -> JsonDict:
    """Return a rubric in adjudge's own form; ``parse_rubric`` reads it back."""
    data: JsonDict = {"points": [_node_data(part) for part in rubric.root.parts]}
    if rubric.root.combine != "points":
        data["combine"] = rubric.root.combine
    return data | ({"layout": rubric.layout} if rubric.layout != "adjudge" else {})


def _node_data(node: Node) -> JsonDict:
    number = node.points
    data: JsonDict = {"id": node.id}
    if isinstance(node, Point):
        data |= {"text": node.text}
        data |= {"kind": node.kind} if node.kind != "met" else {}
        data |= {"levels": list(node.levels)} if node.levels else {}
        data |= {"most": node.most} if node.most else {}
        data |= {name: True for name in ("evidence", "invert", "proposed") if getattr(node, name)}
    else:
        name = next(
            name
            for name, combine in _GROUPS.items()
            if combine == node.combine or (name == "group")
        )
        data |= {"text": node.text} if node.text else {}
        data |= {"combine": node.combine} if name == "group" and node.combine != "points" else {}
        data |= {name: [_node_data(part) for part in node.parts]}
    data |= {"points": written(number)} if number != 1 else {}
    data |= {"tags": list(node.tags)} if node.tags else {}
    return data | ({"required": True} if node.required else {})


def written(number: Fraction) -> int | float:
    """Return a number as an int if it is whole, else as a float."""
    return int(number) if number.denominator == 1 else float(number)
