"""Check arguments against the JSON schema of their tool.

Both come from a trace, which anyone may have written: nothing is fetched, and nothing runs forever.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from adjudge.core.checks.words import short
from adjudge.core.domain.json_types import JsonObject, JsonValue
from adjudge.core.reading.patterns import CannotMatch, find_all
from adjudge.errors import AdjudgeError, SetupError
from adjudge.features.agents.matchers import ValueComparison
from adjudge.messages import Message

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

Check: TypeAlias = "Callable[..., Iterable[ValidationError] | None]"
_MOST_KEYWORDS = 20_000
"""That are looked at for one call: references to references multiply."""
_MOST_ERRORS = 100
_LOOKED_AT = threading.local()


class SchemaProblem(AdjudgeError):
    """Arguments cannot be checked against this schema."""


def problem_with(arguments: JsonObject | str, schema: JsonObject) -> Message | None:
    """Return the error in the arguments, or None; raise a SchemaProblem if undecidable."""
    if isinstance(arguments, str):
        return Message("the arguments are not a JSON object")
    validator = _validator(json.dumps(schema, sort_keys=True, default=str))
    from referencing.exceptions import Unresolvable

    _LOOKED_AT.count = 0
    try:
        errors = islice(validator.iter_errors(arguments), _MOST_ERRORS)
        # the error nearest to the root says most
        first_error = min(errors, key=lambda error: len(error.path), default=None)
    except Unresolvable as error:
        raise SchemaProblem(
            "a reference cannot be resolved: {reason}", reason=short(str(error), 120)
        ) from error
    except RecursionError as error:
        raise SchemaProblem("it is nested too deeply to be read") from error
    except CannotMatch as error:
        raise SchemaProblem(error.message) from error
    if first_error is None:
        return None
    return Message(
        "{path}: {problem}", path=first_error.json_path, problem=short(first_error.message, 120)
    )


@lru_cache(maxsize=256)
def _validator(text: str) -> Validator:
    if find_spec("jsonschema") is None:
        raise SetupError("invalid_arguments needs jsonschema: pip install 'adjudge[schema]'")
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import extend, validator_for
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    schema = json.loads(text)
    if _has_key(schema, "patternProperties"):
        raise SchemaProblem("it uses patternProperties, which adjudge does not check")
    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise SchemaProblem(
            "it is not a JSON schema: {reason}", reason=short(error.message, 120)
        ) from error
    except RecursionError as error:
        raise SchemaProblem("it is nested too deeply to be read") from error
    checks: dict[str, Check] = {"pattern": _check_pattern, "uniqueItems": _check_unique}
    checks = {name: _with_limit(check) for name, check in {**kind.VALIDATORS, **checks}.items()}
    extended = extend(kind, checks)  # type: ignore[no-untyped-call]
    bounded: Validator = extended(schema, registry=REGISTRY)
    return bounded


def _has_key(value: JsonValue, name: str) -> bool:
    nodes = [value]
    for node in nodes:
        if isinstance(node, dict):
            if name in node:
                return True
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
    return False


def _check_pattern(
    _: Validator, pattern: JsonValue, value: JsonValue, __: JsonObject
) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if not isinstance(value, str) or not isinstance(pattern, str):
        return
    if not find_all(pattern, 0, value, whole=False):
        yield ValidationError(f"{short(value)!r} does not match {pattern!r}")


def _check_unique(
    _: Validator, must_be_unique: JsonValue, value: JsonValue, __: JsonObject
) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    items = value if must_be_unique is True and isinstance(value, list) else []
    if len({ValueComparison().normal(item) for item in items}) < len(items):
        yield ValidationError(f"{short(str(items[:9]))} has non-unique elements")


def _with_limit(check: Check) -> Check:
    def limited(*arguments: object) -> Iterator[ValidationError]:
        _LOOKED_AT.count += 1
        if _LOOKED_AT.count > _MOST_KEYWORDS:
            raise SchemaProblem("checking it takes more than {count} steps", count=_MOST_KEYWORDS)
        yield from check(*arguments) or ()

    return limited
