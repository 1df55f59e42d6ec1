"""What ``--help`` prints, in the language of the command line or of ``LANG``.

Help texts stand where commands and options are made. They are rendered here, when they are shown;
``help_texts`` lists them for the catalogues.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from inspect import cleandoc
from typing import Any

import click

from adjudge.messages import render, term
from adjudge.runs.cli.output import Output

CONTEXT = "help"
"""What the catalogues call these texts."""
_AS_IT_STANDS = "\b\n"
"""What a paragraph begins with that click does not fill."""
_VALUE = re.compile(r"\b[A-Z]{2,}\b")
"""What stands for a value: TEXT, COLUMN."""


class Argument(click.Argument):
    """An argument that says what it is."""

    def __init__(
        self,
        param_decls: Sequence[str],
        required: bool | None = None,
        *,
        help: str = "",
        nargs: int | None = None,
        type: click.ParamType[object] | None = None,
        default: object = None,
    ) -> None:
        given: dict[str, Any] = {"nargs": nargs, "type": type, "default": default}
        given = {
            name: value for name, value in given.items() if value is not None
        }  # a default of None would make it optional
        super().__init__(param_decls, required, **given)
        self.about = help
        self.metavar = (
            f"{self.name if self.required else f'[{self.name}]'}{'...' if self.nargs != 1 else ''}"
        )


class Helpful(click.Command):
    """A command whose help is in the reader's language, and lists its arguments."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        pieces = _with_values(" ".join(self.collect_usage_pieces(ctx)), ctx)
        formatter.write_usage(
            ctx.command_path, pieces, prefix=f"{_say(term('help', 'Usage:'), ctx)} "
        )

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        click.Command.format_help_text(self._said(ctx), ctx, formatter)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Its first sentence, as far as there is room."""
        said = self._said(click.get_current_context(silent=True))
        return click.Command.get_short_help_str(said, limit)

    def _said(self, ctx: click.Context | None) -> click.Command:
        """The command with its help in the reader's language."""
        said = copy(self)
        said.help = _described(self.help or "", ctx)
        return said

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The arguments, the options, and the commands of a group."""
        params = self.get_params(ctx)
        arguments = [
            (str(one.name), _say(term(CONTEXT, one.about), ctx))
            for one in params
            if isinstance(one, Argument)
        ]
        options = [
            record
            for one in params
            if isinstance(one, click.Option) and (record := _option(one, ctx))
        ]
        _write(term("help", "Arguments"), arguments, ctx, formatter)
        _write(term("help", "Options"), options, ctx, formatter)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)


class HelpfulGroup(Helpful, click.Group):
    """Several commands, listed in the reader's language."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with the first sentence of its help."""
        names = self.list_commands(ctx)
        room = formatter.width - 6 - max(map(len, names), default=0)
        found = ((name, self.get_command(ctx, name)) for name in names)
        rows = [(name, one.get_short_help_str(room)) for name, one in found if one]
        _write(term("help", "Commands"), rows, ctx, formatter)


def write_commands(
    groups: Mapping[str, Mapping[str, str]], ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """List commands by group, without loading them."""
    for title, lines in groups.items():
        rows = [(name, _say(term(CONTEXT, help), ctx)) for name, help in lines.items()]
        _write(term("help", title), rows, ctx, formatter)


def help_texts(command: click.Command, ctx: click.Context) -> Iterator[str]:
    """Every text in the help of a command, and of those below it."""
    yield from map(_key, _paragraphs(command.help or ""))
    yield from _VALUE.findall(" ".join(command.collect_usage_pieces(ctx)))
    for one in command.get_params(ctx):
        if isinstance(one, Argument):
            yield one.about
        elif isinstance(one, click.Option) and (record := one.get_help_record(ctx)):
            yield from filter(None, [one.help])
            yield from _VALUE.findall(record[0])
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            if below := command.get_command(ctx, name):
                yield from help_texts(below, click.Context(below, info_name=name, parent=ctx))


def _write(
    title: str,
    rows: Sequence[tuple[str, str]],
    ctx: click.Context,
    formatter: click.HelpFormatter,
) -> None:
    if rows:
        with formatter.section(_say(title, ctx)):
            formatter.write_dl(rows)


def _option(option: click.Option, ctx: click.Context) -> tuple[str, str] | None:
    """Its names and its help; what click adds to it stands in brackets behind."""
    shown = copy(option)
    shown.help = _say(term(CONTEXT, option.help or ""), ctx)
    record = shown.get_help_record(ctx)
    if record is None:
        return None
    names, text = record
    said, added = text[: len(shown.help)], text[len(shown.help) :]
    for word in (term("help", "default: "), term("help", "required")):
        added = added.replace(str(word), _say(word, ctx))
    return _with_values(names, ctx), said + added


def _with_values(text: str, ctx: click.Context) -> str:
    return _VALUE.sub(lambda found: _say(term(CONTEXT, found[0]), ctx), text)


def _described(help: str, ctx: click.Context | None) -> str:
    return "\n\n".join(
        f"{_AS_IT_STANDS if paragraph.startswith(_AS_IT_STANDS) else ''}"
        f"{_say(term(CONTEXT, _key(paragraph)), ctx)}"
        for paragraph in _paragraphs(help)
    )


def _paragraphs(help: str) -> list[str]:
    return cleandoc(help).split("\n\n") if help else []


def _key(paragraph: str) -> str:
    if paragraph.startswith(_AS_IT_STANDS):
        return paragraph.removeprefix(_AS_IT_STANDS)
    return " ".join(paragraph.split())


def _say(text: str, ctx: click.Context | None) -> str:
    output = (ctx and ctx.find_object(Output)) or Output("en")
    return render(text, output.language)
