"""YAML in which what people write stays what they wrote."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

_RESOLVED = ("tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")


def load_yaml(content: str, *, trusted: bool = False) -> object:
    """The one document in ``content``, its scalars as texts. A ValueError says what is wrong with it.

    ``Yes`` and ``1.10`` are names of options here, not a truth value and the number 1.1; a key that stands twice is an error.
    What is ``trusted`` is read by libyaml: fast, but nesting without end would bring the process down.
    """
    import yaml

    try:
        return yaml.load(content, _loader(trusted))  # noqa: S506 - a SafeLoader that resolves less
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


@cache
def _loader(trusted: bool) -> type[yaml.SafeLoader]:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if trusted else yaml.SafeLoader

    class Loader(base):  # type: ignore[misc]
        yaml_implicit_resolvers = _fewer(base.yaml_implicit_resolvers)

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            refuse_repeats([key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)])
            made: dict[Any, Any] = super().construct_mapping(node, deep)
            return made

    return Loader


def refuse_repeats(keys: Sequence[str]) -> None:
    """Of two values for one key, one would be lost."""
    for index, key in enumerate(keys):
        if key in keys[:index]:
            raise ValueError(f"the key {key!r} stands twice in one place")


def _fewer(resolvers: dict[str, list[tuple[str, Any]]]) -> dict[str, list[tuple[str, Any]]]:
    return {first: [(tag, pattern) for tag, pattern in each if tag in _RESOLVED] for first, each in resolvers.items()}
