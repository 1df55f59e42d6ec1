"""The output of ``--help``, in the language of the command line or of ``LANG``.

Help texts are written with their commands and options, and rendered here when they are shown.
``help_texts`` lists them for the catalogues.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from inspect import cleandoc
from typing import Any

import click

from adjudge.messages import Message, render, term
from adjudge.runs.cli.output import Output

CONTEXT = "help"
"""The context of these texts in the catalogues."""
_AS_IT_STANDS = "\b\n"
"""The start of a paragraph that click does not refill."""
_VALUE = re.compile(r"\b[A-Z]{2,}\b")
"""Placeholders of values: TEXT, COLUMN."""


class Argument(click.Argument):
    """An argument with a help text."""

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
        settings: dict[str, Any] = {"nargs": nargs, "type": type, "default": default}
        settings = {
            name: value for name, value in settings.items() if value is not None
        }  # a default of None would make it optional
        super().__init__(param_decls, required, **settings)
        self.about = help
        self.metavar = (
            f"{self.name if self.required else f'[{self.name}]'}{'...' if self.nargs != 1 else ''}"
        )


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


class Helpful(click.Command):
    """A command whose help is translated and lists its arguments.

    It refuses ``nan`` as a number: click's ranges let it through, and every comparison with it is
    false.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        for parameter in self.get_params(ctx):
            value = ctx.params.get(parameter.name or "")
            if any(map(_is_nan, value if isinstance(value, tuple) else (value,))):
                raise click.BadParameter(Message("a number is expected, not nan"), ctx, parameter)
        return rest

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        pieces = _with_values(" ".join(self.collect_usage_pieces(ctx)), ctx)
        formatter.write_usage(
            ctx.command_path, pieces, prefix=f"{_say(term('help', 'Usage:'), ctx)} "
        )

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        click.Command.format_help_text(self._translate(ctx), ctx, formatter)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence of the translated help, shortened to ``limit`` characters."""
        translated = self._translate(click.get_current_context(silent=True))
        return click.Command.get_short_help_str(translated, limit)

    def _translate(self, ctx: click.Context | None) -> click.Command:
        """Return a copy of the command with translated help."""
        translated = copy(self)
        translated.help = _translate_help(self.help or "", ctx)
        return translated

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments, the options, and the commands of a group."""
        params = self.get_params(ctx)
        arguments = [
            (str(param.name), _say(term(CONTEXT, param.about), ctx))
            for param in params
            if isinstance(param, Argument)
        ]
        options = [
            record
            for param in params
            if isinstance(param, click.Option) and (record := _option(param, ctx))
        ]
        _write(term("help", "Arguments"), arguments, ctx, formatter)
        _write(term("help", "Options"), options, ctx, formatter)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)


class HelpfulGroup(Helpful, click.Group):
    """A group whose list of commands is translated."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List each command with the first sentence of its help, if it fits."""
        names = self.list_commands(ctx)
        room = formatter.width - 6 - max(map(len, names), default=0)
        commands = ((name, self.get_command(ctx, name)) for name in names)
        rows = [(name, command.get_short_help_str(room)) for name, command in commands if command]
        _write(term("help", "Commands"), rows, ctx, formatter)


def write_commands(
    groups: Mapping[str, Mapping[str, str]], ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """List commands by group, without loading them."""
    for title, lines in groups.items():
        rows = [(name, _say(term(CONTEXT, help), ctx)) for name, help in lines.items()]
        _write(term("help", title), rows, ctx, formatter)


def help_texts(command: click.Command, ctx: click.Context) -> Iterator[str]:
    """Yield every help text of a command and its subcommands."""
    yield from map(_key, _paragraphs(command.help or ""))
    yield from _VALUE.findall(" ".join(command.collect_usage_pieces(ctx)))
    for param in command.get_params(ctx):
        if isinstance(param, Argument):
            yield param.about
        elif isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
            yield from filter(None, [param.help])
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
    """Return an option's names and translated help, or None if it is hidden. Click appends the
    default in brackets.
    """
    translated = copy(option)
    translated.help = _say(term(CONTEXT, option.help or ""), ctx)
    record = translated.get_help_record(ctx)
    if record is None:
        return None
    names, text = record
    help_text, added = text[: len(translated.help)], text[len(translated.help) :]
    for word in (term("help", "default: "), term("help", "required")):
        added = added.replace(str(word), _say(word, ctx))
    return _with_values(names, ctx), help_text + added


def _with_values(text: str, ctx: click.Context) -> str:
    return _VALUE.sub(lambda match: _say(term(CONTEXT, match[0]), ctx), text)


def _translate_help(help: str, ctx: click.Context | None) -> str:
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
