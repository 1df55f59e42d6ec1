"""Messages for click's usage errors, by exception class."""

from __future__ import annotations

import click

from adjudge.messages import Message, join


def usage_message(error: click.ClickException) -> str:
    """Return the message of a usage error, in our words if we know its class."""
    match error:
        case click.NoSuchOption(option_name=name, possibilities=near):
            return _unknown_option(name, near or [])
        case click.MissingParameter(param=click.Argument() as param):
            return Message("Missing argument {name}.", name=param.get_error_hint(error.ctx))
        case click.MissingParameter(param=click.Parameter() as param):
            return Message("Missing option {name}.", name=param.get_error_hint(error.ctx))
        case click.BadOptionUsage(option_name=name):
            return Message("Option {name!r} requires an argument.", name=name)
        case click.BadParameter(param=click.Parameter() as param):
            return Message(
                "Invalid value for {name}: {reason}",
                name=error.param_hint or param.get_error_hint(error.ctx),
                reason=error.message
                if isinstance(error.message, Message)
                else _describe_type(param.type) or error.message,
            )
    return error.message


def _unknown_option(name: str, near: list[str]) -> Message:
    if not near:
        return Message("No such option {name!r}.", name=name)
    names = join(Message(" or "), map(repr, sorted(near)))
    return Message("No such option {name!r}. Did you mean {near}?", name=name, near=names)


def _describe_type(kind: click.ParamType[object]) -> Message | None:
    """Describe the valid values of a type; None if there is no description."""
    match kind:
        case click.Choice(choices=choices):
            return Message("use one of {names}", names=", ".join(map(repr, choices)))
        case click.IntRange(min=least, max=most):
            return _within(Message("a whole number"), least, most)
        case click.FloatRange(min=least, max=most):
            return _within(Message("a number"), least, most)
        case _ if kind is click.INT:
            return _within(Message("a whole number"), None, None)
        case _ if kind is click.FLOAT:
            return _within(Message("a number"), None, None)
    return None


def _within(kind: Message, least: float | None, most: float | None) -> Message:
    if least is not None and most is not None:
        return Message(
            "{kind} from {least:g} to {most:g} is expected", kind=kind, least=least, most=most
        )
    if least is not None:
        return Message("{kind} of at least {least:g} is expected", kind=kind, least=least)
    return Message("{kind} is expected", kind=kind)
