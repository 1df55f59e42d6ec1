"""Literals in Python files, read from the syntax tree. Nothing is imported or executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adjudge.core.reading.values import text_in
from adjudge.errors import SetupError
from adjudge.messages import Message

_DEEPEST = 50


class NotLiteralError(Exception):
    """Raised for a value that is only known when the code runs."""


@dataclass
class Scope:
    """The expressions of names that are assigned exactly once in a function or module."""

    assigned: Mapping[str, ast.expr]
    outer: Scope | None = None
    _open: set[str] = field(default_factory=set)

    def look_up(self, name: str) -> ast.expr | None:
        """Return the expression assigned to a name, here or in an outer scope.

        Return None if it is assigned twice or never.
        """
        if name in self.assigned:
            return self.assigned[name]
        return self.outer.look_up(name) if self.outer else None

    def resolve(self, node: ast.expr) -> ast.expr:
        """Follow names to the expression that they stand for."""
        for _ in range(_DEEPEST):
            if not isinstance(node, ast.Name):
                return node
            target = self.look_up(node.id)
            if target is None:
                return node
            node = target
        return node

    def literal(self, node: ast.expr, depth: int = 0) -> object:
        """Return the value of an expression of literals; raise NotLiteralError for any other."""
        node = self.resolve(node)
        if depth > _DEEPEST:
            raise NotLiteralError
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.List | ast.Tuple):
            return [self.literal(each, depth + 1) for each in node.elts]
        if isinstance(node, ast.Dict):
            if any(name is None for name in node.keys):
                raise NotLiteralError
            return {
                self.literal(name, depth + 1): self.literal(value, depth + 1)  # type: ignore[arg-type]
                for name, value in zip(node.keys, node.values, strict=True)
            }
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.literal(node.operand, depth + 1)
            if isinstance(value, int | float):
                return -value
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.literal(node.left, depth + 1), self.literal(node.right, depth + 1)
            if isinstance(left, str) and isinstance(right, str):
                return left + right
        raise NotLiteralError

    def elements(self, node: ast.expr | None) -> list[ast.expr] | None:
        """Return the resolved items of a literal list or tuple; None for anything else."""
        if node is None:
            return None
        node = self.resolve(node)
        return (
            list(map(self.resolve, node.elts)) if isinstance(node, ast.List | ast.Tuple) else None
        )


def parse_python(path: Path) -> ast.Module:
    """Parse a Python file without running it."""
    text = text_in(path)
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SetupError(
            "{path}:{line} cannot be read as Python: {reason}",
            path=path,
            line=getattr(error, "lineno", None) or 1,
            reason=getattr(error, "msg", None) or Message("nested too deeply"),
        ) from error


def imports(module: ast.Module, package: str) -> bool:
    """Return True for a file that imports a package, or a part of it."""
    names: list[str] = []
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
        elif isinstance(node, ast.Import):
            names += [each.name for each in node.names]
    return any(name.split(".")[0] == package for name in names)


def scopes_in(module: ast.Module) -> Iterator[tuple[Scope, list[ast.AST]]]:
    """Yield (scope, nodes) for the module and each function.

    The nodes of nested functions are left out; they come with their own function.
    """
    outer = Scope(_assigned(own_nodes(module)))
    yield outer, own_nodes(module)
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes = own_nodes(node)
            arguments = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
            assigned = _assigned(nodes)
            hidden = {name: ast.Name(name) for name in arguments if name not in assigned}
            yield Scope({**assigned, **hidden}, outer), nodes


def own_nodes(body: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.AST]:
    """Return the nodes of a body, without those of functions inside it."""
    nodes: list[ast.AST] = []
    waiting: list[ast.AST] = list(reversed(body.body))
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += reversed(list(ast.iter_child_nodes(node)))
    return nodes


def _assigned(nodes: list[ast.AST]) -> dict[str, ast.expr]:
    """Return the names that are assigned exactly once."""
    assigned: dict[str, ast.expr] = {}
    times: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            times[node.id] = times.get(node.id, 0) + 1
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if len(node.targets) == 1:
                assigned[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            assigned[node.target.id] = node.value
    return {name: value for name, value in assigned.items() if times[name] == 1}


def called(node: ast.AST) -> str:
    """Return the name that a call ends with: ``GEval`` for ``metrics.GEval(…)``.

    Return an empty text for a node that is not a call.
    """
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def argument(call: ast.Call, name: str, place: int | None = None) -> ast.expr | None:
    """Return a call's argument by name, else by position; None if it is missing."""
    by_name = next((each.value for each in call.keywords if each.arg == name), None)
    if by_name is None and place is not None and place < len(call.args):
        return call.args[place]
    return by_name
