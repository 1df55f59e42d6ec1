"""Check generated code before it runs: is it Python, are its imports allowed, does it avoid back
doors?

This is not a wall. It tells a model early and in words what the sandbox would refuse later, and
keeps honest code honest.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import warnings
from collections.abc import Collection, Iterator

from adjudge.messages import Message


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DEFAULT_IMPORTS = _words(
    """__future__ abc array base64 binascii bisect calendar cmath collections contextlib copy csv
    dataclasses datetime decimal difflib enum fractions functools graphlib hashlib heapq html io
    itertools json math numbers operator pprint random re statistics string struct textwrap time
    typing unicodedata urllib.parse zoneinfo"""
)
"""Modules of the standard library that compute and do nothing else."""

_BACK_DOORS = _words(
    "__import__ breakpoint compile delattr eval exec getattr globals input locals open setattr vars"
)
# They take the name of an attribute as a text; a text that is written out can be checked.
_BY_NAME = frozenset({"getattr", "setattr", "delattr", "attrgetter", "methodcaller"})
_INNARDS = _words(
    """ag_code ag_frame co_code cr_code cr_frame f_back f_builtins f_code f_globals f_locals gi_code
    gi_frame tb_frame tb_next func_globals mro FileIO ForwardRef get_type_hints open_code _os _sys
    builtins importlib posix subprocess"""
)
_OPERATORS = _words(
    """abs add and bool ceil complex divmod eq float floor floordiv ge gt iadd iand ifloordiv
    ilshift imatmul imod imul index invert ior ipow irshift isub itruediv ixor le lshift lt matmul
    mod mul ne neg or pos pow radd rand rdivmod rfloordiv rlshift rmatmul rmod rmul ror round rpow
    rrshift rshift rsub rtruediv rxor sub truediv trunc xor"""
)
_PLAIN_DUNDERS = _OPERATORS | _words(
    """aenter aexit aiter all anext annotations await bytes call class contains copy debug deepcopy
    delitem doc enter exit format getitem hash init iter len length_hint main match_args missing
    name new next post_init qualname repr reversed set_name slots str version"""
)
_DUNDER = re.compile(r"__(\w+?)__(?!\w)")
_FIELD_WITH_DUNDER = re.compile(r"\{[^{}]*__\w+__")
_WILD = "*"
_NO_CODE = Message(
    "the reply contains no code: write the program in a fence that begins with ```python"
)
# Beginnings of lines that are meant as Python, whatever is wrong further on.
_CODE_LINE = re.compile(
    r"\s*(?:from [\w.]+ import\b|import [\w.]+ *(?:,|as\b|$)|(?:async )?def \w+ *\(|class "
    r"\w+ *[:(]|@\w|[\w.]+\("
    r"|[\w.\[\]'\"]+(?: *, *[\w.\[\]'\"]+)* *(?:[-+*/%|&^]|//|\*\*)?=(?!=))"
)


def static_check(
    code: str, allowed_imports: Collection[str] = DEFAULT_IMPORTS, known: Collection[str] = ()
) -> list[str]:
    """Return the reasons why the code should not run, each with its line; empty if there are none.

    ``known``: the names that exist when the code starts, such as its inputs and tools.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a strange backslash is not a reason
            tree = ast.parse(code)
            compile(tree, "<code>", "exec", dont_inherit=True)
    except SyntaxError as error:
        if not _looks_like_code(code):
            return [_NO_CODE]
        line, problem = error.lineno or 1, error.msg
        return [Message("line {line}: not valid Python: {said}", line=line, said=problem)]
    except (ValueError, RecursionError, MemoryError) as error:
        return [Message("line 1: not valid Python: {error}", error=error or type(error).__name__)]
    if not tree.body:
        return [_NO_CODE]
    reader = _Reader(frozenset(allowed_imports), frozenset(known))
    reader.names, reader.modules = set(_bound(tree)), dict(_modules(tree))
    reader.visit(tree)
    return [
        Message("line {line}: {reason}", line=line, reason=reason)
        for line, reason in sorted(set(reader.reasons))
    ]


class _Reader(ast.NodeVisitor):
    def __init__(self, allowed: frozenset[str], known: frozenset[str]) -> None:
        self.allowed = allowed
        self.known = known
        self.names: set[str] = set()
        self.modules: dict[str, str] = {}
        self.reasons: list[tuple[int, str]] = []
        self._checked: set[int] = set()

    def _refuse(self, node: ast.AST, reason: str) -> None:
        self.reasons.append((getattr(node, "lineno", 1), reason))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._import(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level:
            self._refuse(
                node, Message("relative imports do not work here: write the module's full name")
            )
            return
        module = node.module or ""
        for alias in node.names:
            if not self._may_import(f"{module}.{alias.name}"):
                self._import(node, module)
            self._attribute(node, alias.name, of_module=module)

    def _import(self, node: ast.AST, module: str) -> None:
        if not self._may_import(module):
            self._refuse(
                node,
                Message(
                    "import of {module} is not allowed; allowed are {allowed}",
                    module=module,
                    allowed=", ".join(sorted(self.allowed)) or "none",
                ),
            )

    def _may_import(self, module: str) -> bool:
        parts = module.split(".")
        return any(".".join(parts[: length + 1]) in self.allowed for length in range(len(parts)))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        module = self.modules.get(node.value.id, "") if isinstance(node.value, ast.Name) else ""
        self._attribute(node, node.attr, of_module=module)
        self.generic_visit(node)

    def _attribute(self, node: ast.AST, name: str, of_module: str = "") -> None:
        if name in _INNARDS or not _plain(name):
            self._refuse(
                node,
                Message(
                    "attribute {name} is not allowed: it reaches into the interpreter", name=name
                ),
            )
        elif of_module and self._leads_elsewhere(of_module, name):
            self._refuse(
                node,
                Message(
                    "{of_module}.{name} is not allowed: it gives access to forbidden imports",
                    of_module=of_module,
                    name=name,
                ),
            )

    def _leads_elsewhere(self, module: str, name: str) -> bool:
        """Return True for names such as ``random._os``, which give access to a module like
        ``import os``.
        """
        if module == "io":
            return name == "open"
        bare = name.lstrip("_")
        return (
            bare in sys.stdlib_module_names
            and bare not in self.allowed
            and f"{module}.{name}" not in self.allowed
        )

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self.known:
            return
        if not _plain(node.id):
            self._refuse(
                node,
                Message("name {id} is not allowed: it reaches into the interpreter", id=node.id),
            )
        elif isinstance(node.ctx, ast.Load):
            self._check_use(node)

    def _check_use(self, node: ast.Name) -> None:
        if (
            node.id in _BACK_DOORS
            and id(node) not in self._checked
            and not (node.id == "input" and "input" in self.names)
        ):
            self._refuse(node, Message("{id} is not allowed", id=node.id))
        elif (
            not hasattr(builtins, node.id)
            and node.id not in self.names
            and _WILD not in self.names
            and not node.id.startswith("__")
        ):
            self._refuse(node, Message("name {id} is not defined", id=node.id))

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if called in _BY_NAME and called not in self.known:
            self._named_attributes(
                node, node.args if called in ("attrgetter", "methodcaller") else node.args[1:2]
            )
            self._checked.add(id(node.func))
        self.generic_visit(node)

    def _named_attributes(self, node: ast.Call, names: list[ast.expr]) -> None:
        name_arguments = names[:1] if names else [ast.Constant(None)]
        for name in name_arguments:
            if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
                self._refuse(
                    node,
                    Message(
                        "an attribute may be named by a string only if the string is a literal"
                    ),
                )
            else:
                for part in name.value.split("."):
                    self._attribute(node, part)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and (
            _FIELD_WITH_DUNDER.search(node.value) or not _plain_text(node.value)
        ):
            self._refuse(
                node,
                Message(
                    "the string {value!r} names something that reaches into the interpreter",
                    value=node.value[:40],
                ),
            )

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        for name in node.kwd_attrs:
            self._attribute(node, name)
        self.generic_visit(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        if not _plain(node.name):
            self._refuse(node, Message("a definition of {name} is not allowed", name=node.name))
        self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _definition


def _looks_like_code(text: str) -> bool:
    """Return True if text that does not compile has a line of code, or no letters at all."""
    return not any(map(str.isalpha, text)) or any(
        _CODE_LINE.match(line) or _is_statement(line) for line in text.splitlines()
    )


def _is_statement(line: str) -> bool:
    """Return True for statements such as ``for x in y:`` or ``return x``.

    A name, a number and ``Note: this`` do not count, because they can be prose.
    """
    try:
        (node,) = ast.parse(line.strip() + (" pass" if line.rstrip().endswith(":") else "")).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not isinstance(node, ast.Expr | ast.AnnAssign | ast.Pass | ast.Break | ast.Continue)


def _plain(name: str) -> bool:
    """Return True unless the name is a dunder that ordinary classes do not define."""
    if not (name.startswith("__") and name.endswith("__") and len(name) > 4):
        return True
    return name[2:-2] in _PLAIN_DUNDERS


def _plain_text(text: str) -> bool:
    """Return True if a text cannot serve as a forbidden name."""
    # Prose may mention anything: only a text without a blank could be used as a name.
    return any(map(str.isspace, text)) or all(
        name in _PLAIN_DUNDERS for name in _DUNDER.findall(text)
    )


def _bound(tree: ast.AST) -> Iterator[str]:
    """Yield every name that the code binds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        else:
            yield from _pattern_names(node)


def _modules(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (name, module) for each imported name that stands for a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name, alias.name) for alias in node.names)


def _pattern_names(node: ast.AST) -> Iterator[str]:
    for field in ("name", "rest"):  # definitions, handlers, patterns
        if isinstance(name := getattr(node, field, None), str):
            yield name
