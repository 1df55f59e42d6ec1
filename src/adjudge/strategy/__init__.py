"""Generate, verify, weigh, retry, execute: better code and better text out of many candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.lazy import loader

HOME_OF = {
    "Agent": "strategy.agent",
    "Candidate": "strategy.candidate",
    "Improvement": "strategy.improving",
    "LLM": "strategy.llm",
    "Limits": "sandbox.base",
    "Program": "strategy.program",
    "Runtime": "strategy.runtime",
    "Selection": "strategy.candidate",
    "Strategy": "strategy.strategy",
    "abest_of": "strategy.texts",
    "aimprove": "strategy.improving",
    "best_of": "strategy.texts",
    "find_sandbox": "sandbox.find",
    "improve": "strategy.improving",
}
"""Where each name lives; no module is called like one of them, since loading it would take the
name.
"""
__all__ = sorted(HOME_OF)  # noqa: PLE0605

if TYPE_CHECKING:
    from adjudge.sandbox.base import Limits as Limits
    from adjudge.sandbox.find import find_sandbox as find_sandbox
    from adjudge.strategy.agent import Agent as Agent
    from adjudge.strategy.candidate import Candidate as Candidate
    from adjudge.strategy.candidate import Selection as Selection
    from adjudge.strategy.improving import Improvement as Improvement
    from adjudge.strategy.improving import aimprove as aimprove
    from adjudge.strategy.improving import improve as improve
    from adjudge.strategy.llm import LLM as LLM
    from adjudge.strategy.program import Program as Program
    from adjudge.strategy.runtime import Runtime as Runtime
    from adjudge.strategy.strategy import Strategy as Strategy
    from adjudge.strategy.texts import abest_of as abest_of
    from adjudge.strategy.texts import best_of as best_of

__getattr__ = loader(__name__, HOME_OF)
