"""YAML in which what people write stays what they wrote, and knows its line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from adjudge.reading.values import Items, Keys, Place, Scalar, WrongValue

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node, SequenceNode

_TAGS = "tag:yaml.org,2002:"
_HINT = "a text with : ? # or brackets in it needs quotes"


def load_yaml(content: str, place: Place, *, trusted: bool = False) -> Place:
    """``place`` with the one document in ``content`` as its value. A WrongValue says what is wrong with it, and on which line.

    Scalars are texts, since ``Yes`` and ``1.10`` may be names of options: see ``Scalar``. A key that stands twice is an error.
    What is ``trusted`` is read by libyaml: fast, but nesting without end would bring the process down.
    """
    node = _compose(content, place, trusted)
    if node is None:
        return replace(place, line=1, value=None)
    return replace(place, line=_line(node), value=_Reader().value(node, place))


def _compose(content: str, place: Place, trusted: bool) -> Node | None:
    import yaml

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if trusted else yaml.SafeLoader
    try:
        node: Node | None = yaml.compose(content, base)
        return node
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        said = ", ".join(filter(None, (error.context, error.problem)))
        raise replace(place, line=line).wrong(f"is not YAML: {said}; {_HINT}") from error
    except yaml.YAMLError as error:
        raise replace(place, line=1).wrong(f"is not YAML: {' '.join(str(error).split())}") from error


class _Reader:
    """Makes values of YAML's nodes; what is referred to several times is made once."""

    def __init__(self) -> None:
        import yaml

        self._yaml = yaml.constructor.SafeConstructor()
        self._made: dict[int, object] = {}

    def value(self, node: Node, place: Place) -> object:
        if id(node) not in self._made:
            self._made[id(node)] = self._make(node, place)
        return self._made[id(node)]

    def _make(self, node: Node, place: Place) -> object:
        from yaml.nodes import MappingNode, SequenceNode

        kind = node.tag.removeprefix(_TAGS)
        if kind == node.tag or kind.startswith("python/"):
            raise _unknown_tag(node, place)
        if isinstance(node, MappingNode):
            return self._keys(node, place)
        if isinstance(node, SequenceNode):
            return self._items(node, place)
        return None if kind == "null" else Scalar(node.value, self._meant(node, kind))

    def _keys(self, node: MappingNode, place: Place) -> Keys:
        _refuse_repeats(node, place)
        self._yaml.flatten_mapping(node)
        made = Keys()
        for written, below in node.value:
            made.key_lines[written.value] = _line(written)
            made.lines[written.value] = _line(below)
            made[written.value] = self.value(below, place if below.id == "scalar" else place.at(written.value))
        return made

    def _items(self, node: SequenceNode, place: Place) -> Items:
        places = (place if below.id == "scalar" else place.item(number) for number, below in enumerate(node.value, 1))
        made = Items(map(self.value, node.value, places))
        made.lines = [_line(below) for below in node.value]
        return made

    def _meant(self, node: Node, kind: str) -> object:
        """What YAML takes a scalar for; None where a tag says what it is not: ``!!int abc``."""
        if kind not in ("int", "float", "bool"):
            return node.value if kind == "str" else None
        try:
            return self._yaml.construct_object(node)
        except (ArithmeticError, LookupError, ValueError):
            return None


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _unknown_tag(node: Node, place: Place) -> WrongValue:
    return replace(place, line=_line(node)).wrong(f"is not YAML: could not determine a constructor for the tag {node.tag!r}")


def _refuse_repeats(node: MappingNode, place: Place) -> None:
    """Of two values for one key, one would be lost."""
    first: dict[str, int] = {}
    for written, _ in node.value:
        at = replace(place, line=_line(written))
        if written.id != "scalar":
            raise at.wrong(f"must be a key, not {'a list' if written.id == 'sequence' else 'keys with values'}")
        if written.value in first:
            raise at.wrong(f"the key {written.value!r} stands twice; the first is on line {first[written.value]}")
        first[written.value] = at.line
