"""What the static check says about code before it runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.features.generate.static_check import DEFAULT_IMPORTS, static_check

FINE = {
    "plain": "output = sum(range(10))",
    "imports": (
        "import math, json as j\nfrom collections import Counter\nfrom collections.abc import "
        "Mapping"
    ),
    "a part of a package": (
        "import urllib.parse\nfrom urllib import parse\noutput = urllib.parse.quote('x')"
    ),
    "future": "from __future__ import annotations\nx: int = 1",
    "a class": (
        "class P:\n    __slots__ = ('x',)\n    def __init__(self, x): self.x = x\n    def "
        "__len__(self): return 1"
    ),
    "a subclass": "class E(Exception):\n    def __init__(self, text): super().__init__(text)",
    "its main": "def main(): return 1\nif __name__ == '__main__':\n    output = main()",
    "names of classes": "class A: pass\noutput = A().__class__.__name__ + A.__doc__ * 0",
    "a dataclass": (
        "from dataclasses import dataclass, field\n@dataclass\nclass D:\n    x: list = "
        "field(default_factory=list)"
    ),
    "prose about dunders": '"""Do not touch __class__ or __globals__ here."""\noutput = 1',
    "a written-out attribute": "output = getattr('x', 'upper')()",
    "attrgetter": "from operator import attrgetter\noutput = attrgetter('real')(1)",
    "an own name input": "def f(input):\n    return input + 1\noutput = f(1)",
    "all scopes": (
        "output = [y for y in (lambda a, *b, **c: [a])(1)]\nfor i, (j, k) in []: pass\nwith x() "
        "as z: z\n"
    ),
    "patterns": (
        "match [1, 2]:\n    case [a, *rest]: output = a, rest\n    case {'k': v, **more}: "
        "output = v, more"
    ),
    "a handler": "try: pass\nexcept ValueError as error: output = str(error)",
    "a star": "from math import *\noutput = sqrt(2)",
    "walrus and global": (
        "def f():\n    global g\n    g = 1\nif (n := 3): output = n\nf(); output = g"
    ),
    "strange backslash": "output = '\\d'",
    "time of a module": (
        "import datetime, time, random\noutput = datetime.time, time.time(), random.random()"
    ),
}


@pytest.mark.parametrize("name", FINE)
def test_ordinary_code_is_fine(name: str) -> None:
    assert static_check(FINE[name], known=("x",)) == []


REFUSED = {
    # importing what is not allowed, by any spelling
    "import": ("import os", "import of os"),
    "import as": ("import math\nimport subprocess as math2", "line 2: import of subprocess"),
    "a part of a package": ("import os.path", "import of os.path"),
    "from": ("from os import system", "import of os"),
    "a relative import": ("from . import os", "full name"),
    "inside a function": ("def f():\n    import socket", "line 2: import of socket"),
    "a sibling": ("import urllib.request", "import of urllib.request"),
    "a sibling by from": ("from urllib import request", "import of urllib"),
    "importlib": ("import importlib", "import of importlib"),
    "the import function": ("__import__('os')", "__import__"),
    "the import function by another name": ("f = __import__", "__import__"),
    "the loader": ("__loader__.load_module('os')", "__loader__"),
    "its own specification": ("__spec__.loader", "__spec__"),
    "the builtins": ("__builtins__['eval']('1')", "__builtins__"),
    "the builtins module": ("import builtins", "import of builtins"),
    "a module inside a module": ("import random\nrandom._os.system('x')", "_os"),
    "the same under another name": ("import random as r\nr._os.system('x')", "_os"),
    "the same by from": ("from random import _os", "_os"),
    "another module inside a module": (
        "import statistics\nstatistics.sys.modules",
        "statistics.sys",
    ),
    "fullwidth letters": ("__ｉmport__('os')", "__import__"),
    "sys.modules": ("import sys\nsys.modules['os']", "import of sys"),
    # running text as code, and files
    "eval": ("eval('1')", "eval is not allowed"),
    "eval passed on": ("list(map(eval, ['1']))", "eval is not allowed"),
    "eval under a name of its own": ("if 0: eval = 1\neval('1')", "eval is not allowed"),
    "exec": ("exec('x = 1')", "exec is not allowed"),
    "compile": ("compile('1', '', 'eval')", "compile is not allowed"),
    "open": ("open('/etc/passwd')", "open is not allowed"),
    "io.open": ("import io\nio.open('x')", "io.open"),
    "io.FileIO": ("import io\nio.FileIO('x')", "FileIO"),
    "from io": ("from io import open as o", "io.open"),
    "input": ("input()", "input is not allowed"),
    "breakpoint": ("breakpoint()", "breakpoint is not allowed"),
    "globals": ("globals()['x']", "globals is not allowed"),
    "vars": ("vars()", "vars is not allowed"),
    "type hints as code": ("import typing\ntyping.get_type_hints(int)", "get_type_hints"),
    # back doors of the language
    "subclasses": ("().__class__.__bases__[0].__subclasses__()", "__subclasses__"),
    "the order of bases": ("int.__mro__", "__mro__"),
    "the order by a method": ("int.mro()", "mro"),
    "globals of a function": ("def f(): pass\nf.__globals__", "__globals__"),
    "code of a function": ("def f(): pass\nf.__code__", "__code__"),
    "closure": ("def f(): pass\nf.__closure__", "__closure__"),
    "the dict of a module": ("import math\nmath.__dict__", "__dict__"),
    "a frame": ("def g(): yield\ng().gi_frame.f_globals", "gi_frame"),
    "a frame of an error": (
        "try: 1 / 0\nexcept Exception as e: e.__traceback__.tb_frame",
        "tb_frame",
    ),
    "getattr with a dunder": ("getattr(int, '__subclasses__')()", "__subclasses__"),
    "getattr with a made text": ("getattr(int, '__sub' + 'classes__')", "a literal"),
    "getattr passed on": (
        "from functools import reduce\nreduce(getattr, [])",
        "getattr is not allowed",
    ),
    "setattr with a made text": ("n = 'x'\nsetattr(int, n, 1)", "a literal"),
    "attrgetter with a path": (
        "from operator import attrgetter\nattrgetter('__class__.__base__')(1)",
        "__base__",
    ),
    "attrgetter with a made text": (
        "import operator\nn = 'a'\noperator.attrgetter(n)(1)",
        "a literal",
    ),
    "methodcaller": ("import operator\noperator.methodcaller('__reduce__')(1)", "__reduce__"),
    "a format field": ("'{0.__class__.__init__.__globals__}'.format(1)", "string"),
    "a format field in prose": ("'see {0.__globals__} there'.format(1)", "string"),
    "a pattern": ("match 1:\n    case object(__class__=c, __base__=b): pass", "__base__"),
    "a dunder kept in a text": ("n = '__import__'", "string"),
    "a definition of a dunder": ("def __import__(name): pass", "definition"),
    "a dunder variable": ("__builtins__ = {}", "__builtins__"),
    # not even Python
    "syntax": ("x = (\n", "not valid Python"),
    "a return outside": ("x = 1\nreturn x", "line 2: not valid Python"),
    "a null byte": ("x = 1\0", "not valid Python"),
    "too deep": ("(" * 500 + ")" * 500, "not valid Python"),
    "an unknown name": ("output = find_weather('x')", "line 1: name find_weather is not defined"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_its_line(name: str) -> None:
    code, reason = REFUSED[name]
    reasons = static_check(code)
    assert any(reason in said for said in reasons), reasons
    assert all(said.startswith("line ") for said in reasons)


def test_reasons_come_in_the_order_of_lines_and_once() -> None:
    reasons = static_check("import os\neval('1')\nimport os; import os\n")
    assert [said.split(":")[0] for said in reasons] == ["line 1", "line 2", "line 3"]


def test_the_imports_can_be_set() -> None:
    assert static_check("import numpy.linalg", {"numpy"}) == []
    assert static_check("import os.path", {"os.path"}) == []
    assert "allowed are json, numpy" in static_check("import math", ["numpy", "json"])[0]
    assert "allowed are none" in static_check("import math", ())[0]
    assert "os" not in DEFAULT_IMPORTS
    assert "math" in DEFAULT_IMPORTS


def test_tools_and_inputs_are_known() -> None:
    assert static_check("output = search(question)", known=("search", "question")) == []
    assert static_check("output = open(1)", known=("open",)) == []
    assert static_check("output = search(question)", known=("search",)) == [
        "line 1: name question is not defined"
    ]


@given(st.text())
def test_no_text_breaks_it(code: str) -> None:
    assert isinstance(static_check(code), list)


PROSE = {
    "a promise": "Here is the code:",
    "a refusal": "I'm sorry, but I can't help with that.",
    "several lines": "The answer is 55.\n\nfrom the definition it follows\nNote: this is easy",
    "Russian": "К сожалению, я не могу с этим помочь.",
    "a list": "1. First, sort the numbers\n2. Then add them",
    "nothing": "  ",
    "a remark": "# nothing to do",
}


@pytest.mark.parametrize("name", PROSE)
def test_prose_is_no_code(name: str) -> None:
    assert static_check(PROSE[name]) == [
        "the reply contains no code: write the program in a fence that begins with ```python"
    ]


BROKEN = [
    "output = (",
    "import math\noutput = math.sqrt(",
    "def f(:\n    return 1",
    "for x in [1, 2]:\noutput = x",
    "print 'x'\nx = 1",
]


@pytest.mark.parametrize("code", BROKEN)
def test_code_with_a_mistake_is_not_called_prose(code: str) -> None:
    assert "not valid Python" in static_check(code)[0]
