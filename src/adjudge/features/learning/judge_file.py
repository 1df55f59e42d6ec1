"""``judge.json``: a learned head, its prompt form and model, and its measured quality.

The file holds no code and no text of a labelled row: n-grams are hashed, and rows are named by the
beginning of a hash.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import compress, decompressobj
from zlib import error as ZlibError

import numpy as np

from adjudge.core.aio.files import written_whole
from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.errors import SetupError
from adjudge.features.learning.acceptance import Acceptance
from adjudge.features.learning.head import Curve, LearnedHead
from adjudge.features.learning.prompt_form import AskedOrder, PromptForm
from adjudge.features.learning.words import BUCKETS, SIMPLE
from adjudge.messages import Message, reason_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
FORMAT = "adjudge learned judge 3"
ROW_HASH = 16
"""Letters of a row's identity that the file keeps."""
_LARGEST = 8_000_000
_MOST_NUMBERS = 1 << 20
_LARGEST_NUMBER = 1e9
_ROW = re.compile(f"[0-9a-f]{{{ROW_HASH}}}")
_MOST_PEOPLE, _LONGEST_NAME = 10_000, 500
# The version of the features: change it if words.py counts differently.
_FEATURES = "words 1, simple 1"


@dataclass(frozen=True, slots=True)
class JudgeFile:
    """A learned judge as its file stores it."""

    criterion: str
    form: PromptForm
    head: LearnedHead
    model: str | None
    """The embedded model with its very weights and adapter; None for a head on words alone."""
    layers: tuple[int, ...]
    rows: tuple[str, ...]
    """The rows that taught it or set its threshold, by the beginning of their identities, sorted.
    """
    acceptance: Acceptance | None
    learned_from: JsonObject = field(default_factory=dict)
    """Number, authors and date of the labels, for people to read."""
    figures: JsonObject = field(default_factory=dict)
    """The measures at the time of learning, for people to read."""

    def text(self) -> str:
        """Return the whole file. The same judge always gives the same text."""
        content = self._content()
        return json.dumps(
            {**content, "checksum": content_hash(content)}, ensure_ascii=False, indent=1
        )

    @property
    def checksum(self) -> str:
        return content_hash(self._content())

    def write(self, path: Path) -> None:
        with written_whole(path) as file:
            file.write((self.text() + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> JudgeFile:
        """Read a file; raise a SetupError with the reason if it cannot be used."""
        if path.exists() and not path.is_file():  # a pipe or a device may never end
            raise _broken(path, Message("it is not a file"))
        try:
            with path.open("rb") as file:
                text = file.read(_LARGEST + 1)
        except OSError as error:
            raise SetupError(
                "the learned judge {path} cannot be read: {reason}",
                path=path,
                reason=reason_of(error),
            ) from error
        if len(text) > _LARGEST:
            raise _broken(path, Message("it is too large"))
        try:
            content = json.loads(text.decode())
        except (ValueError, RecursionError) as error:
            raise _broken(path, Message("it is not JSON")) from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise _broken(path, Message("it has another format"))
        if content.get("features") != _FEATURES:
            raise _broken(path, Message("another version of adjudge counts words differently"))
        checksum = content.pop("checksum", None)
        try:
            if checksum != content_hash(content):
                raise _broken(path, Message("it was changed or damaged"))
            return _judge(content)
        except SetupError:
            raise
        except (
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            RecursionError,
            AttributeError,
            ArithmeticError,
            ZlibError,
        ) as error:
            raise _broken(path, Message("its parts are inconsistent")) from error

    def _content(self) -> JsonDict:
        head = self.head
        return {
            "format": FORMAT,
            "features": _FEATURES,
            "criterion": self.criterion,
            "model": self.model,
            "layers": list(self.layers),
            "form": {
                "kind": self.form.kind,
                "options": list(self.form.options),
                "between": list(self.form.between),
                "orders": [
                    {"system": order.system, "shared": order.shared, "options": dict(order.options)}
                    for order in self.form.orders
                ],
            },
            "learned_from": dict(self.learned_from),
            "figures": dict(self.figures),
            "acceptance": None if self.acceptance is None else self.acceptance.to_dict(),
            "rows": list(self.rows),
            "head": {
                "penalty": head.penalty,
                "intercept": head.intercept,
                "curve": [head.curve.slope, head.curve.intercept],
                "states": None if head.states is None else _pack(head.states),
                "zero_shot": head.zero_shot,
                "words": _pack(head.words),
                "simple": _pack(head.simple),
                "bounds": _pack(head.bounds),
                "rarity": _pack(head.rarity),
            },
        }


def _judge(content: Mapping[str, Any]) -> JudgeFile:
    form, head = content["form"], content["head"]
    orders = tuple(
        AskedOrder(_text(order["system"]), _text(order["shared"]), _texts_by(order["options"]))
        for order in form["orders"]
    )
    option_a, option_b = map(_text, form["options"])
    prompt_form = PromptForm(
        _text(form["kind"]), (option_a, option_b), tuple(map(_text, form["between"])), orders
    )
    prompt_form.check()
    slope, intercept = map(_number, head["curve"])
    model = None if content["model"] is None else _text(content["model"])
    states = None if head["states"] is None else _unpack(head["states"], np.float16)
    layers = tuple(int(layer) for layer in content["layers"])
    if (states is None) != (model is None) or bool(layers) != bool(model):
        raise ValueError("model")
    zero_shot = _number(head["zero_shot"])
    if zero_shot < 0 or (zero_shot and states is None):
        raise ValueError("zero_shot")
    learned = LearnedHead(
        states,
        zero_shot,
        _check_length(_unpack(head["words"], np.float16), 2 * BUCKETS),
        _check_length(_unpack(head["simple"], np.float32), SIMPLE),
        _check_length(_unpack(head["bounds"], np.float32), 2 * SIMPLE).reshape(2, SIMPLE),
        _check_length(_unpack(head["rarity"], np.float16), 2 * BUCKETS),
        _number(head["intercept"]),
        Curve(slope, intercept),
        _number(head["penalty"]),
    )
    acceptance = content["acceptance"]
    return JudgeFile(
        _text(content["criterion"]),
        prompt_form,
        learned,
        model,
        layers,
        _rows(content["rows"]),
        None if acceptance is None else Acceptance.of(acceptance),
        _learned_from(content["learned_from"]),
        dict(content["figures"]),
    )


def _rows(kept: object) -> tuple[str, ...]:
    """Return the hashes of the training rows; a shorter one would stand for many other rows."""
    if not isinstance(kept, list) or not all(_ROW.fullmatch(_text(row)) for row in kept):
        raise ValueError("rows")
    return tuple(kept)


def _learned_from(kept: Mapping[str, Any]) -> JsonDict:
    """Return where the labels come from; raise a TypeError for anything else."""
    numbers = {name: kept.get(name, 0) for name in ("labels", "votes", "rows")}
    texts = {name: kept.get(name) for name in ("until", "votes_of")}
    people = kept.get("annotators", [])
    if not all(type(number) is int for number in numbers.values()):
        raise TypeError("counts")
    if not all(text is None or len(_text(text)) <= _LONGEST_NAME for text in texts.values()):
        raise ValueError("names")
    if {*kept} - {*numbers, *texts, "annotators"}:
        raise ValueError("learned_from")
    if not isinstance(people, list) or len(people) > _MOST_PEOPLE:
        raise TypeError("annotators")
    if not all(len(_text(name)) <= _LONGEST_NAME for name in people):
        raise ValueError("annotators")
    return dict(kept)


def _broken(path: Path, reason: Message) -> SetupError:
    return SetupError(
        "{path} is not a learned judge ({reason}): learn it again with 'adjudge learn RUN -o "
        "{path}'",
        path=path,
        reason=reason,
    )


def _pack(numbers: NDArray[Any]) -> str:
    return b64encode(
        compress(numbers.astype(numbers.dtype.newbyteorder("<")).tobytes(), 9)
    ).decode()


def _unpack(text: object, kind: type) -> NDArray[Any]:
    unpacking = decompressobj()
    # Bounded, since a small file may decompress to very many numbers.
    raw = unpacking.decompress(b64decode(_text(text), validate=True), 8 * _MOST_NUMBERS)
    if unpacking.unconsumed_tail:
        raise ValueError("too many numbers")
    numbers: NDArray[Any] = np.frombuffer(raw, np.dtype(kind).newbyteorder("<")).astype(kind)
    if not np.isfinite(numbers).all():
        raise ValueError("not a number")
    return numbers


def _check_length(numbers: NDArray[Any], size: int) -> NDArray[Any]:
    if len(numbers) != size:
        raise ValueError("size")
    return numbers


def _text(value: JsonValue | object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _texts_by(value: Mapping[str, object]) -> dict[str, str]:
    return {_text(name): _text(text) for name, text in value.items()}


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a number")
    if not math.isfinite(value) or abs(value) > _LARGEST_NUMBER:
        raise ValueError("not a number of a head")
    return float(value)
