"""What the reference of the site shows of a class: as it is made and called, not how it works.

A griffe extension. Judges take many of their parameters from base classes and join the explanations
when they are loaded; so signatures and docstrings of public classes are taken from the loaded
class.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass

import griffe

import adjudge
from adjudge.judges import Judge

OPEN = (adjudge.BaseDirectJudge, adjudge.BasePairwiseJudge, Judge)
"""Those that people derive from: what can be overridden is shown."""
CALLED = {
    "evaluate",
    "evaluate_multi_criteria",
    "evaluate_with_custom_prompt",
    "improve",
    "estimate",
}
CALLED |= {f"a{name}" for name in CALLED}
"""What people call of a judge."""
KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: griffe.ParameterKind.positional_only,
    inspect.Parameter.POSITIONAL_OR_KEYWORD: griffe.ParameterKind.positional_or_keyword,
    inspect.Parameter.VAR_POSITIONAL: griffe.ParameterKind.var_positional,
    inspect.Parameter.KEYWORD_ONLY: griffe.ParameterKind.keyword_only,
    inspect.Parameter.VAR_KEYWORD: griffe.ParameterKind.var_keyword,
}


class AsLoaded(griffe.Extension):
    """Looks at every class of the package."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: object) -> None:  # noqa: ARG002
        """All of them, when all are known."""
        for shown in _classes(pkg):
            _write_sync_edges(shown)
        for name in adjudge.__all__:
            found = getattr(adjudge, name)
            if inspect.isclass(found) and found.__module__.startswith("adjudge."):
                _complete(
                    pkg[f"{found.__module__.removeprefix('adjudge.')}.{found.__qualname__}"], found
                )


def _classes(module: griffe.Module) -> Iterator[griffe.Class]:
    """Those that are written in it or below it; what it imports is an alias."""
    for one in module.members.values():
        if isinstance(one, griffe.Module):
            yield from _classes(one)
        elif isinstance(one, griffe.Class):
            yield one


def _write_sync_edges(shown: griffe.Class) -> None:
    """``evaluate = sync_edge(aevaluate)`` is a method with the parameters of the other."""
    for name, edge in list(shown.members.items()):
        twin = shown.members.get(f"a{name}")
        if (
            isinstance(edge, griffe.Attribute)
            and isinstance(twin, griffe.Function)
            and str(edge.value).startswith("sync_edge(")
        ):
            method = griffe.Function(
                name, parameters=twin.parameters, returns=twin.returns, docstring=twin.docstring
            )
            shown.set_member(name, method)


def _complete(shown: griffe.Class, loaded: type) -> None:
    if is_dataclass(loaded):
        _as_made(shown, loaded)
    if issubclass(loaded, Judge) and loaded not in OPEN:
        _hide(shown)


def _as_made(shown: griffe.Class, loaded: type) -> None:
    """With every parameter, and what is said of it."""
    made = griffe.Function(
        "__init__", parameters=griffe.Parameters(*map(_parameter, _parameters(loaded)))
    )
    shown.set_member("__init__", made)
    if shown.docstring:
        shown.docstring.value = inspect.getdoc(loaded) or ""


def _parameters(loaded: type) -> list[inspect.Parameter]:
    return list(inspect.signature(loaded).parameters.values())


def _parameter(parameter: inspect.Parameter) -> griffe.Parameter:
    annotation = None if parameter.annotation is parameter.empty else str(parameter.annotation)
    default = None if parameter.default is parameter.empty else repr(parameter.default)
    return griffe.Parameter(
        parameter.name, annotation=annotation, kind=KINDS[parameter.kind], default=default
    )


def _hide(shown: griffe.Class) -> None:
    for name in set(shown.members) - CALLED - {"__init__"}:
        shown.del_member(name)
