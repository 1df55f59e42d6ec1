"""Servers that the tests of the playground share."""

from support.playground import home, model_server, play

__all__ = ["home", "model_server", "play"]
