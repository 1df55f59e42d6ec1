"""Generate, verify, weigh, retry, execute: better code and better text out of many candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.lazy import loader

HOME_OF = {
    "Agent": "features.generate.agent",
    "Candidate": "features.generate.candidate",
    "Improvement": "features.generate.improvement",
    "LLM": "features.generate.llm",
    "Limits": "features.generate.sandbox.base",
    "Program": "features.generate.program",
    "Runtime": "features.generate.runtime",
    "Selection": "features.generate.candidate",
    "Strategy": "features.generate.strategy",
    "abest_of": "features.generate.texts",
    "aimprove": "features.generate.improvement",
    "best_of": "features.generate.texts",
    "find_sandbox": "features.generate.sandbox.finder",
    "improve": "features.generate.improvement",
}
"""Where each name lives; no module is called like one of them, since loading it would take the
name.
"""
__all__ = sorted(HOME_OF)  # noqa: PLE0605

if TYPE_CHECKING:
    from adjudge.features.generate.agent import Agent as Agent
    from adjudge.features.generate.candidate import Candidate as Candidate
    from adjudge.features.generate.candidate import Selection as Selection
    from adjudge.features.generate.improvement import Improvement as Improvement
    from adjudge.features.generate.improvement import aimprove as aimprove
    from adjudge.features.generate.improvement import improve as improve
    from adjudge.features.generate.llm import LLM as LLM
    from adjudge.features.generate.program import Program as Program
    from adjudge.features.generate.runtime import Runtime as Runtime
    from adjudge.features.generate.sandbox.base import Limits as Limits
    from adjudge.features.generate.sandbox.finder import find_sandbox as find_sandbox
    from adjudge.features.generate.strategy import Strategy as Strategy
    from adjudge.features.generate.texts import abest_of as abest_of
    from adjudge.features.generate.texts import best_of as best_of

__getattr__ = loader(__name__, HOME_OF)
