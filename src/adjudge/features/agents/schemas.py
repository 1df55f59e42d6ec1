"""Arguments against the JSON schema of their tool. Both come from a trace, which anybody may have
written: nothing is fetched, and nothing takes for ever.
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
    """Arguments cannot be checked by this schema."""


def problem_with(arguments: JsonObject | str, schema: JsonObject) -> Message | None:
    """What is wrong with the arguments, or None; a SchemaProblem where that cannot be told."""
    if isinstance(arguments, str):
        return Message("they are not a JSON object")
    validator = _validator(json.dumps(schema, sort_keys=True, default=str))
    from referencing.exceptions import Unresolvable

    _LOOKED_AT.count = 0
    try:
        errors = islice(validator.iter_errors(arguments), _MOST_ERRORS)
        found = min(errors, key=lambda one: len(one.path), default=None)
    except Unresolvable as error:
        raise SchemaProblem(
            "a reference leads nowhere: {reason}", reason=short(str(error), 120)
        ) from error
    except RecursionError as error:
        raise SchemaProblem("it is nested too deep to be read") from error
    except CannotMatch as error:
        raise SchemaProblem(error.message) from error
    if found is None:
        return None
    return Message("{path}: {problem}", path=found.json_path, problem=short(found.message, 120))


@lru_cache(maxsize=256)
def _validator(text: str) -> Validator:
    if find_spec("jsonschema") is None:
        raise SetupError("invalid_arguments needs jsonschema: pip install 'adjudge[schema]'")
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import extend, validator_for
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    schema = json.loads(text)
    if _holds(schema, "patternProperties"):
        raise SchemaProblem("it uses patternProperties, which are not checked")
    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise SchemaProblem(
            "it is not a JSON schema: {reason}", reason=short(error.message, 120)
        ) from error
    except RecursionError as error:
        raise SchemaProblem("it is nested too deep to be read") from error
    own: dict[str, Check] = {"pattern": _check_pattern, "uniqueItems": _check_unique}
    own = {name: _counted(check) for name, check in {**kind.VALIDATORS, **own}.items()}
    extended = extend(kind, own)  # type: ignore[no-untyped-call]
    bounded: Validator = extended(schema, registry=REGISTRY)
    return bounded


def _holds(value: JsonValue, name: str) -> bool:
    waiting = [value]
    for one in waiting:
        if isinstance(one, dict):
            if name in one:
                return True
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
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
    _: Validator, wanted: JsonValue, value: JsonValue, __: JsonObject
) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    items = value if wanted is True and isinstance(value, list) else []
    if len({ValueComparison().normal(item) for item in items}) < len(items):
        yield ValidationError(f"{short(str(items[:9]))} has non-unique elements")


def _counted(check: Check) -> Check:
    def counted(*given: object) -> Iterator[ValidationError]:
        _LOOKED_AT.count += 1
        if _LOOKED_AT.count > _MOST_KEYWORDS:
            raise SchemaProblem("it takes more than {count} steps to check", count=_MOST_KEYWORDS)
        yield from check(*given) or ()

    return counted
