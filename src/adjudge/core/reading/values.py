"""Typed values of a file; an error says where one is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field as dataclass_field
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adjudge.core.domain.json_types import JsonObject, JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import SetupError
from adjudge.messages import Message, join, reason_of

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node, SequenceNode


_TAGS = "tag:yaml.org,2002:"
# Nested brackets in an untrusted file.
_DEEPEST = 100
# Characters. PyYAML reads about 100,000 of them per second.
_LONGEST_YAML = 4_000_000
_MOST_MERGED = 100_000
_HINT = Message("a string with : ? # or brackets needs quotes")


def load_yaml(content: str, place: Place, *, trusted: bool = False) -> Place:
    """Return ``place`` with the document in ``content`` as its value. A WrongValue names the line
    of an error.

    Scalars are texts, because ``Yes`` and ``1.10`` may be names of options: see ``Scalar``. A
    repeated key is an error. ``trusted`` content is read by libyaml: fast, but endless nesting
    would crash the process.
    """
    if len(content) > _LONGEST_YAML:
        raise replace(place, line=1).wrong(
            "is longer than {most:,} characters: put rows into a CSV or JSONL file",
            most=_LONGEST_YAML,
        )
    try:
        node = _compose(content, place, trusted)
        if node is None:
            return replace(place, line=1, value=None)
        line = node.start_mark.line + 1
        return replace(place, line=line, value=_Reader().value(node, place))
    except RecursionError:  # also raised for a node that contains itself
        raise replace(place, line=1).wrong("is nested too deeply") from None


def our_yaml(module: str, name: str) -> tuple[JsonObject, Place]:
    """Return the content of ``data/name`` next to one of adjudge's modules, and its place."""
    folder = Path(module).parent
    text = (folder / "data" / name).read_text(encoding="utf-8")
    place = load_yaml(text, Place(f"{folder.name}/data/{name}", Message("the file")), trusted=True)
    return mapping(place.value, place), place


def unique_keys(pairs: Sequence[tuple[str, JsonValue]]) -> JsonObject:
    """Return a JSON object, or raise ValueError for a repeated key, whose first value would be
    lost.
    """
    members: dict[str, JsonValue] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(Message("the key {name!r} appears twice", name=name))
        members[name] = value
    return members


def plain_yaml(file: Path) -> Any:
    """Return the values in one of adjudge's own files, read by libyaml if available."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.read_text(encoding="utf-8"), loader)  # noqa: S506 - both are safe


def merging_once(base: type[Any]) -> type[Any]:
    """Return a loader or constructor of YAML that merges each mapping (``<<: *name``) once.

    PyYAML's own doubles the keys with every level of merges, so that a page of them fills the
    memory.
    """
    from yaml.constructor import ConstructorError
    from yaml.nodes import MappingNode

    class MergingOnce(base):  # type: ignore[misc]
        merged = 0

        def flatten_mapping(self, node: MappingNode) -> None:
            merges = [below for key, below in node.value if key.tag == f"{_TAGS}merge"]
            if not merges:
                return
            own_pairs = [pair for pair in node.value if pair[0].tag != f"{_TAGS}merge"]
            node.value = own_pairs  # set now, so that a node that merges itself ends
            pairs: dict[object, tuple[Node, Node]] = {}
            for value in merges:
                parts = [value] if isinstance(value, MappingNode) else value.value
                for part in reversed(parts):  # the first of two equal keys counts
                    if not isinstance(part, MappingNode):
                        raise ConstructorError(
                            problem="<< needs a mapping", problem_mark=node.start_mark
                        )
                    self.flatten_mapping(part)
                    self.merged += len(part.value)
                    if self.merged > _MOST_MERGED:
                        raise ConstructorError(
                            problem=f"<< merges more than {_MOST_MERGED:,} keys",
                            problem_mark=node.start_mark,
                        )
                    pairs |= {_key(key): (key, below) for key, below in part.value}
            pairs |= {_key(key): (key, below) for key, below in own_pairs}
            node.value = list(pairs.values())

    return MergingOnce


def _key(node: Node) -> object:
    from yaml.nodes import ScalarNode

    return node.value if isinstance(node, ScalarNode) else id(node)


def _compose(content: str, place: Place, trusted: bool) -> Node | None:
    import yaml

    class Shallow(yaml.SafeLoader):
        """Refuses deep nesting early: PyYAML's time grows with the square of the depth."""

        def fetch_flow_collection_start(self, kind: type) -> None:
            if self.flow_level > _DEEPEST:
                raise RecursionError
            super().fetch_flow_collection_start(kind)

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if trusted else Shallow
    try:
        node: Node | None = yaml.compose(content, base)
        return node
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        if "'\\t'" in (error.problem or ""):
            raise replace(place, line=line).wrong(
                "YAML lines must be indented with spaces: replace the tab"
            ) from error
        problem = ", ".join(filter(None, (error.context, error.problem)))
        raise replace(place, line=line).wrong(
            "is not YAML: {said}; {hint}", said=problem, hint=_HINT
        ) from error
    except yaml.YAMLError as error:
        raise replace(place, line=1).wrong(
            "is not YAML: {said}", said=" ".join(str(error).split())
        ) from error


class _Reader:
    """Turns YAML nodes into values. A node with several references is converted once."""

    def __init__(self) -> None:
        import yaml

        self._yaml = merging_once(yaml.constructor.SafeConstructor)()
        self._made: dict[int, JsonValue] = {}

    def value(self, node: Node, place: Place) -> JsonValue:
        from yaml.nodes import MappingNode, SequenceNode

        if id(node) in self._made:
            return self._made[id(node)]
        kind = node.tag.removeprefix(_TAGS)
        if kind == node.tag or kind.startswith("python/"):
            raise replace(place, line=node.start_mark.line + 1).wrong(
                "is not YAML: could not determine a constructor for the tag {tag!r}", tag=node.tag
            )
        converted: JsonValue
        if isinstance(node, MappingNode):
            converted = self._keys(node, place)
        elif isinstance(node, SequenceNode):
            converted = self._items(node, place)
        elif kind == "null":
            converted = None
        else:
            converted = Scalar(
                node.value, node.value if kind == "str" else self._construct_scalar(node, kind)
            )
        self._made[id(node)] = converted
        return converted

    def _keys(self, node: MappingNode, place: Place) -> YamlMapping:
        from yaml.constructor import ConstructorError

        _refuse_repeats(node, place)
        try:
            self._yaml.flatten_mapping(node)
        except ConstructorError as error:
            line = node.start_mark.line + 1
            raise replace(place, line=line).wrong(
                "is not YAML: {said}", said=error.problem
            ) from None
        values = YamlMapping()
        for key_node, below in node.value:
            values.key_lines[key_node.value] = key_node.start_mark.line + 1
            values.lines[key_node.value] = below.start_mark.line + 1
            values[key_node.value] = self.value(
                below, place if below.id == "scalar" else place.at(key_node.value)
            )
        return values

    def _items(self, node: SequenceNode, place: Place) -> Items:
        places = (
            place if below.id == "scalar" else place.item(number)
            for number, below in enumerate(node.value, 1)
        )
        items = Items(map(self.value, node.value, places))
        items.lines = [below.start_mark.line + 1 for below in node.value]
        return items

    def _construct_scalar(self, node: Node, kind: str) -> object:
        """Return the number or boolean that YAML reads; None if the tag is wrong: ``!!int abc``."""
        if kind not in ("int", "float", "bool"):
            return None
        try:
            return self._yaml.construct_object(node)
        except (ArithmeticError, LookupError, ValueError):
            return None


def _refuse_repeats(node: MappingNode, place: Place) -> None:
    """Raise an error for a repeated key: one of its values would be lost."""
    first_lines: dict[str, int] = {}
    for key_node, _ in node.value:
        line = key_node.start_mark.line + 1
        if key_node.id != "scalar":
            raise replace(place, line=line).wrong(
                "must be a key, not {what}",
                what=Message("a list") if key_node.id == "sequence" else Message("a mapping"),
            )
        if key_node.value in first_lines:
            raise replace(place, line=line).wrong(
                "the key {value!r} appears twice; the first is on line {first}",
                value=key_node.value,
                first=first_lines[key_node.value],
            )
        first_lines[key_node.value] = line


def text_in(path: Path, *, as_written: bool = False, name: str = "") -> str:
    """Return the text of a UTF-8 file; raise SetupError if it cannot be read.

    ``as_written`` keeps the byte order mark and the line ends. ``name``: the file's name in the
    error, by default its path.
    """
    try:
        return path.read_bytes().decode() if as_written else path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SetupError(
            "{path} cannot be read: {reason}", path=name or path, reason=reason_of(error)
        ) from error
    except UnicodeDecodeError as error:
        raise SetupError(
            "{path} is not UTF-8 (byte {start}): save it as UTF-8 and try again",
            path=name or path,
            start=error.start,
        ) from error


class Scalar(str):
    """A text as it is written in a YAML file, with its meaning there.

    >>> Scalar("1.10", 1.1).meant
    1.1
    """

    meant: object
    """The value that YAML reads; None if that is not a text, a number, true or false."""

    def __new__(cls, written: str, meant: object = None) -> Scalar:
        scalar = super().__new__(cls, written)
        scalar.meant = meant
        return scalar


class YamlMapping(dict[str, JsonValue]):
    """Keys and values with their lines."""

    def __init__(self, *given: Iterable[tuple[str, JsonValue]]) -> None:
        super().__init__(*given)
        self.lines: dict[str, int] = {}
        self.key_lines: dict[str, int] = {}


class Items(list[JsonValue]):
    """A list with the lines of its items."""

    lines: Sequence[int] = ()


@light_dataclass(frozen=True)
class Place:
    """The place of a value in a file, for errors.

    Example: ``raise place.at("limit").wrong("must be above zero")``
    """

    file: str
    entry: str = ""
    field: str = ""
    line: int = 0
    """Counted from one; 0 if unknown."""
    value: JsonValue = dataclass_field(default=None, compare=False, repr=False)
    """The value there, which knows the lines of the values below it."""

    def at(self, field: str) -> Place:
        """Return the place of a value below this one."""
        path = f"{self.field}.{field}" if self.field else field
        if not isinstance(self.value, YamlMapping):
            return Place(self.file, self.entry, path, self.line)
        return Place(
            self.file,
            self.entry,
            path,
            self.value.lines.get(field, self.line),
            self.value.get(field),
        )

    def at_key(self, key: str) -> Place:
        """Like ``at``, but on the line of the key itself."""
        lines = self.value.key_lines if isinstance(self.value, YamlMapping) else {}
        return replace(self.at(key), line=lines.get(key, self.line))

    def item(self, number: int) -> Place:
        """Return the place of an item of this list, counted from one."""
        path = f"{self.field}[{number}]"
        if isinstance(self.value, Items) and number <= len(self.value.lines):
            return replace(
                self, field=path, line=self.value.lines[number - 1], value=self.value[number - 1]
            )
        return replace(self, field=path, value=None)

    def wrong(self, message: str, /, **values: object) -> WrongValue:
        """Return the error for a wrong value here."""
        return WrongValue(self, message, **values)


class WrongValue(SetupError):
    """Raised for a wrong value in a file."""

    def __init__(self, place: Place, message: str, /, **values: object) -> None:
        super().__init__(message, **values)
        self.place = place

    def __str__(self) -> str:
        return self.full_message

    def __reduce__(self) -> tuple[object, ...]:
        return (WrongValue, (self.place, self.message))

    def render(self, language: str) -> str:
        return self.full_message.render(language)

    @property
    def full_message(self) -> Message:
        """The place, and the problem there."""
        place = self.place
        line = Message("line {line}", line=place.line) if place.line else ""
        where = join(", ", filter(None, (place.file, line, place.entry, place.field)))
        return join(": ", (where, self.message)) if where else self.message


def mapping(
    value: object, place: Place, valid: Sequence[str] | None = None, required: Iterable[str] = ()
) -> JsonObject:
    """Return keys and values; raise a WrongValue for anything else, an unknown key or a missing
    one.

    ``valid``: the only keys allowed; None: any. ``required``: keys that must have a value.
    """
    if not isinstance(value, Mapping):
        raise place.wrong("must be a mapping, not {what}", what=what(value))
    entries = {str(key): item for key, item in value.items()}
    for key in entries:
        if valid is not None and key not in valid:
            raise place.at_key(key).wrong(
                "is not a valid key here; {hint}", hint=nearest(key, valid)
            )
    for key in required:
        if entries.get(key) is None:
            raise place.at(key).wrong("is missing")
    return entries


def list_of(value: object, place: Place) -> list[tuple[Place, JsonValue]]:
    """Return the items of a list, each with its place; raise a WrongValue for anything else."""
    if not isinstance(value, list):
        raise place.wrong("must be a list, not {what}", what=what(value))
    return [(place.item(number), item) for number, item in enumerate(value, 1)]


def text(value: object, place: Place) -> str:
    """Return a text, also from a number, as it is written."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise place.wrong("must be a string, not {what}", what=what(value))


def phrase(value: object, place: Place) -> str:
    """Return a text without surrounding whitespace."""
    return text(value, place).strip()


def texts(value: object, place: Place) -> list[str]:
    return [text(item, at) for at, item in list_of(value, place)]


def number(value: object, place: Place) -> float:
    """Return a finite number, also from a text; raise a WrongValue for anything else."""
    try:
        result = (
            math.nan
            if isinstance(value, bool) or not isinstance(value, str | int | float)
            else float(value)
        )
    except (ValueError, OverflowError):
        result = math.nan
    if not math.isfinite(result):
        raise place.wrong("must be a number, not {what}", what=what(value))
    return result


def flag(value: object, place: Place) -> bool:
    """Return True for true or yes, False for false or no; raise a WrongValue for anything else."""
    word = value.lower() if isinstance(value, str) else value
    if word in ("true", "yes") or word is True:
        return True
    if word in ("false", "no") or word is False:
        return False
    raise place.wrong("must be true or false, not {what}", what=what(value))


def one_of(value: object, allowed: Sequence[str], place: Place) -> str:
    """Return one of the allowed words; raise a WrongValue for anything else."""
    if isinstance(value, str) and value in allowed:
        return value
    raise place.wrong(
        "must be {allowed}, not {value}",
        allowed=join(Message(" or "), allowed),
        value=repr(str(value)) if isinstance(value, str) else what(value),
    )


def nearest(word: str, valid: Sequence[str]) -> str:
    """Suggest the nearest valid word, or list all."""
    near = get_close_matches(word.lower(), valid, n=1, cutoff=0.5)
    return (
        Message("did you mean {near!r}?", near=near[0])
        if near
        else Message("known: {valid}", valid=", ".join(valid))
    )


def what(value: object) -> str:
    """Describe the value that was read instead."""
    if value is None:
        return Message("nothing")
    if isinstance(value, Mapping):
        return Message("a mapping")
    if isinstance(value, list):
        return Message("a list")
    if not isinstance(value, str):
        return repr(value)
    short = str(value) if len(value) <= 40 else value[:39] + "…"
    if not isinstance(value, Scalar):
        return repr(short)
    return Message("the string {short!r}", short=short) if isinstance(value.meant, str) else short


def unfolded_size(value: object, known: dict[int, int] | None = None) -> int:
    """Count the values after every YAML alias is expanded."""
    known = {} if known is None else known
    if not isinstance(value, Mapping | list):
        return 1
    # By identity: every alias is the same object.
    if id(value) not in known:
        parts = [*value, *value.values()] if isinstance(value, Mapping) else value
        known[id(value)] = 1 + sum(unfolded_size(part, known) for part in parts)
    return known[id(value)]
