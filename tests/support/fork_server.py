"""A process that has ``adjudge`` loaded and forks one that runs it at each order;
``support.commands`` starts it.

What is forked is as fresh as a new process, with its own working directory, environment, arguments,
files and exit code. Only the reading of modules and of what pages are made from, which is most of
what a short command takes, is done once.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import is_dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import adjudge
from adjudge.core.catalog.criteria import all_names, entry
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.ledger import codec
from adjudge.core.prompts import renderer as render
from adjudge.core.verdicts.phrases import Phrase
from adjudge.errors import SetupError
from adjudge.features.local.libraries import import_numpy
from adjudge.features.rag.report import RagSummary
from adjudge.messages import read_catalogue
from adjudge.runs.view import pages
from support.disk import wait_for_no_disk

NOT_LOADED = (
    "adjudge.__main__",
    "adjudge.features.starters.files",
    "adjudge.features.integrations",
    "adjudge.features.local.onnx",
    "adjudge.web",
)
"""A user's files, and what a short command has no use for."""
PAGES = (
    *("contests.md.jinja", "report.html.jinja", "report.md.jinja"),
    *RagSummary.templates.values(),
)
KINDS = ("aspect", "check", "direct", "pairwise", "rag")
"""Of judgments, as they are stored."""
LIBRARIES = (
    *("aiohttp", "encodings.utf_8_sig", "msgspec", "rich.console", "rich.progress", "rich.table"),
    *("sqlite3", "ssl", "yaml"),
)


def serve() -> None:
    """Fork at every line of the standard input; returns only in what was forked, ready to run the
    command.
    """
    load()
    orders, answers = os.dup(0), os.dup(1)
    with os.fdopen(orders, "rb", buffering=0) as lines:
        for line in lines:
            pid = os.fork()
            if pid == 0:
                os.close(answers)
                order = json.loads(line)
                if "state" in order:
                    leave_alone(order)
                become(order)
                return
            os.write(answers, b"%d\n" % pid)
            os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os._exit(0)


def leave_alone(order: dict[str, Any]) -> None:
    """Go on in a process that nobody here waits for, so that further orders can be taken; its pid
    and its exit code are written to a file.
    """
    if os.fork():
        os._exit(0)
    pid = os.fork()
    if pid == 0:
        return
    os.open(order["in"], os.O_RDONLY | os.O_NOCTTY)  # a terminal stays open until it has opened it
    with Path(order["state"]).open("w") as told:
        print(pid, file=told, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=told, flush=True)
    os._exit(0)


def load() -> None:
    """Everything a command may need, so that no child has to."""
    gc.disable()  # what is loaded stays: looking through it again and again takes half of the time
    wait_for_no_disk()
    with suppress(SetupError):  # it is not installed
        import_numpy()
    for module in pkgutil.walk_packages(adjudge.__path__, "adjudge.", onerror=lambda _: None):
        if not module.name.startswith(NOT_LOADED):
            with suppress(ImportError):  # it needs an extra that is not installed
                importlib.import_module(module.name)
    for library in LIBRARIES:
        importlib.import_module(library)
    for module_name, loaded in list(sys.modules.items()):
        if module_name.startswith("adjudge."):
            for value in list(vars(loaded).values()):
                _make_ready(value)
    for kind in KINDS:
        codec._stored_judgment(kind)
    codec._stored_votes()
    read_catalogue("ru")
    PriceTable.load()
    for language in ("en", "ru"):
        for name in PAGES:
            pages._environment(language, html=".html." in name).get_template(name)
        for prompt in (files("adjudge.core.prompts") / "templates" / language).iterdir():
            render.load(prompt.name.removesuffix(".jinja"), language)
        for name in all_names(language):
            entry(name, language)
        render.wordings(language)
    gc.freeze()
    gc.enable()


def _make_ready(value: object) -> None:
    """Do once what a command does when it first uses a class or a pattern: half of its work."""
    if isinstance(value, Phrase):
        _ = value.regex
    elif isinstance(value, type) and is_dataclass(value):  # which looks up its fields
        _ = value.__init__  # which writes it


def become(order: dict[str, Any]) -> None:
    """The process that was ordered."""
    for number, (path, flags) in enumerate(
        [
            (order["in"], os.O_RDONLY),
            (order["out"], os.O_WRONLY | os.O_CREAT),
            (order["err"], os.O_WRONLY | os.O_CREAT),
        ]
    ):
        opened = os.open(path, flags | os.O_NOCTTY, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    os.chdir(order["folder"])
    sys.argv = ["adjudge", *order["words"]]
    exec(order.get("before", ""), {})


def end(main: Callable[[], None]) -> None:
    """Run ``main`` and end with its exit code, without taking apart hundreds of modules: that takes
    longer than most commands.
    """
    code: object = None
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - what Python does with it
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    serve()
    from adjudge.runs.cli.main import main

    end(main)
