"""Bring the catalogues of translations in step with the code: ``make messages``.

Templates are collected from the calls of ``Message``, ``plural``, ``term`` and of every error, from
the pages, from the help of every command and from the published results; each catalogue keeps its
translations and gets the new templates, empty.
With ``--check`` nothing is written, and what is missing, left over or wrong is printed.
"""

from __future__ import annotations

import argparse
import ast
import string
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click
import jinja2
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2.ext import extract_from_ast

from adjudge.features.bench.published_results import published_results
from adjudge.runs.cli.help import CONTEXT, help_texts
from adjudge.runs.cli.main import GROUPS, HELP, app

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "adjudge"
LOCALES = PACKAGE / "locales"
SYSTEM = (
    "Is a directory",
    "No space left on device",
    "No such file or directory",
    "Permission denied",
)
"""What operating systems say of files: ``messages.reason_of`` repeats it."""


class Found(NamedTuple):
    """A template in the code."""

    context: str
    template: str
    plural: str
    place: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if any is amiss"
    )
    check = parser.parse_args().check
    found = sorted(set(templates(PACKAGE)))
    amiss = False
    for path in sorted(LOCALES.glob("*/LC_MESSAGES/adjudge.po")):
        before = read(path)
        after = updated(before, found)
        problems = list(faults(after))
        print(f"{path.relative_to(ROOT)}: {len(after)} templates")
        for problem in problems:
            print(f"  {problem}")
        amiss = amiss or bool(problems) or _ids(before) != _ids(after)
        if not check:
            write(path, after)
    return int(check and amiss)


def templates(package: Path) -> Iterator[Found]:
    """Every template of the package, in the order of its files."""
    errors = error_names(package)
    yield from (Found("", text, "", "messages.py") for text in SYSTEM)
    for path in sorted(package.rglob("*.jinja")):
        yield from _of_page(path.read_text(encoding="utf-8"), path.relative_to(package).as_posix())
    yield from _of_help()
    yield from _of_published()
    for place, nodes in parsed(package):
        for node in nodes:
            if isinstance(node, ast.Call):
                yield from templates_of(node, errors, place)


def _of_help() -> Iterator[Found]:
    texts = {*GROUPS, *HELP.values(), *help_texts(app, click.Context(app, info_name="adjudge"))}
    yield from (Found(CONTEXT, text, "", "runs/cli/help.py") for text in sorted(texts))


def _of_published() -> Iterator[Found]:
    for one in published_results().sets:
        for text in (one.name, one.question, one.note):
            yield from _single(text, "features/bench/data/published.json")


def _of_page(source: str, place: str) -> Iterator[Found]:
    tree = jinja2.Environment().parse(source)
    for _, name, texts in extract_from_ast(
        tree, ("_", "pgettext", "plural", "term"), babel_style=False
    ):
        match name, texts:
            case "_", (str(text), *_):
                yield Found("", text, "", place)
            case "plural", (str(one), str(many), *_):
                yield Found("", one, many, place)
            case "term" | "pgettext", (str(context), str(text), *_):
                yield Found(context, text, "", place)


@cache
def parsed(package: Path) -> tuple[tuple[str, tuple[ast.Call | ast.ClassDef, ...]], ...]:
    """The calls and classes of each file of the package."""
    return tuple(
        (
            path.relative_to(package).as_posix(),
            tuple(
                node
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.Call | ast.ClassDef)
            ),
        )
        for path in sorted(package.rglob("*.py"))
    )


def called(call: ast.Call) -> str:
    """The name of what is called."""
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def templates_of(call: ast.Call, errors: frozenset[str], place: str) -> Iterator[Found]:
    """The templates that a call gives, where it makes a message."""
    name = called(call)
    texts = [
        argument.value if isinstance(argument, ast.Constant) else None for argument in call.args
    ]
    match name, texts:
        case "plural", [str(one), str(many), *_]:
            yield Found("", one, many, place)
        case "term", [str(context), str(text), *_]:
            yield Found(context, text, "", place)
        case ("WrongValue", [_, str(text), *_]) | ("Message" | "wrong", [str(text), *_]):
            yield from _single(text, place)
        case _, [str(text), *_] if name in errors:
            yield from _single(text, place)


def _single(text: str, place: str) -> Iterator[Found]:
    if any(letter.isalpha() for part, *_ in string.Formatter().parse(text) for letter in part):
        yield Found("", text, "", place)


def error_names(package: Path) -> frozenset[str]:
    """The classes of the error tree, wherever they are defined."""
    bases: dict[str, set[str]] = {}
    for _, nodes in parsed(package):
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                names = {base.id for base in node.bases if isinstance(base, ast.Name)}
                bases.setdefault(node.name, set()).update(names)
    known = {"AdjudgeError"}
    while more := {name for name, of in bases.items() if of & known} - known:
        known |= more
    return frozenset(known)


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=path.parts[-3])


def updated(before: Catalog, found: list[Found]) -> Catalog:
    """The catalogue with just the templates that were found, and the translations it had."""
    # The date stays, so that two branches that add messages change no common line.
    after = Catalog(
        before.locale,
        project="adjudge",
        charset="utf-8",
        fuzzy=False,
        creation_date=before.creation_date,
    )
    for one in found:
        old = before.get(one.template, one.context or None)
        id = (one.template, one.plural) if one.plural else one.template
        message = after.add(id, context=one.context or None, locations=[(one.place, "")])
        if old and old.string and isinstance(old.string, tuple) == bool(one.plural):
            message.string = old.string
    return after


def faults(catalog: Catalog) -> Iterator[str]:
    """What is not translated, or has other places than its template."""
    for message in catalog:
        if not message.id:
            continue
        forms = message.string if isinstance(message.string, tuple) else (message.string,)
        if not all(forms):
            yield f"no translation: {message.id!r}"
            continue
        template = message.id if isinstance(message.id, str) else message.id[1]
        wanted = places(template)
        for form in forms if wanted else ():
            if not wanted >= places(form) or (len(forms) == 1 and wanted != places(form)):
                yield f"other places than its template: {message.id!r} → {form!r}"


def places(template: str) -> set[str]:
    """The names of the values that a template has places for."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def _ids(catalog: Catalog) -> set[tuple[object, object]]:
    return {(message.context, message.id) for message in catalog}


def write(path: Path, catalog: Catalog) -> None:
    with path.open("wb") as file:
        write_po(file, catalog, width=96, sort_output=True, omit_header=False, include_lineno=False)


if __name__ == "__main__":
    sys.exit(main())
