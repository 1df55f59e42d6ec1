"""Generate, verify, weigh, retry, execute: better code and better text out of many candidates."""

from __future__ import annotations

from importlib import import_module

HOME_OF = {
    "Agent": "strategy.agent",
    "Candidate": "strategy.candidate",
    "Improvement": "strategy.improving",
    "LLM": "strategy.llm",
    "Limits": "sandbox.base",
    "Runtime": "strategy.runtime",
    "Selection": "strategy.candidate",
    "Strategy": "strategy.strategy",
    "abest_of": "strategy.texts",
    "aimprove": "strategy.improving",
    "best_of": "strategy.texts",
    "find_sandbox": "sandbox.find",
    "improve": "strategy.improving",
}
"""Where each name lives; no module is called like one of them, since loading it would take the name."""
__all__ = sorted(HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    """Load a name when it is first used."""
    if name not in HOME_OF:
        raise AttributeError(f"module 'adjudge.strategy' has no attribute {name!r}")
    value: object = getattr(import_module(f"adjudge.{HOME_OF[name]}"), name)
    globals()[name] = value
    return value
