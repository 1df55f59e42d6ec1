"""Strategies for plain text: write several texts, keep those that pass, take the best."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, TypedDict, Unpack, cast, overload

from adjudge.core.aio import event_loop
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import ChatMessage, Prompt
from adjudge.core.engine.run import RunFolder, everything_in
from adjudge.core.engine.session import collecting_keys
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import ModelLike
from adjudge.core.prompts.renderer import check_language
from adjudge.errors import SetupError
from adjudge.features.generate.agent import Agent
from adjudge.features.generate.assessment import fresh_cost
from adjudge.features.generate.candidate import Selection, nothing_valid
from adjudge.features.generate.run_folder import configuration, keep_candidates
from adjudge.features.generate.search import Search, Work, Write
from adjudge.features.generate.strategy import Costing, Strategy, Verifier
from adjudge.features.generate.writer import Conversations, from_function
from adjudge.messages import Message

Verify = Verifier | Sequence[Verifier] | None
Cost = Costing | Sequence[Costing] | None
Generate = str | Callable[[], str | Awaitable[str]] | Callable[[str | None], str | Awaitable[str]]
"""A prompt for ``llm``, or a function that writes: without parameters, or with one, the reasons
against its last try.
"""


class StrategySettings(TypedDict, total=False):
    """Settings of Strategy other than verifiers, costs and the number of candidates."""

    max_iterations: int
    min_candidates_for_comparison: int
    accept_cost_threshold: float | None
    compare_cost_threshold: float | None
    cost_is: Literal["lower", "higher"]
    fresh_samples: int


class More(StrategySettings, total=False):
    """Optional arguments of ``best_of``: model, model settings, run, budget, and Strategy
    settings.
    """

    llm: ModelLike | Sequence[ModelLike] | None
    language: str
    temperature: float | None
    seed: int | None
    run: RunFolder | None
    budget: Budget | None


@overload
def best_of(
    generate: Generate,
    n: int = 3,
    verify: Verify = None,
    cost: Cost = None,
    *,
    detail: Literal[False] = False,
    **more: Unpack[More],
) -> str: ...
@overload
def best_of(
    generate: Generate,
    n: int = 3,
    verify: Verify = ...,
    cost: Cost = ...,
    *,
    detail: Literal[True],
    **more: Unpack[More],
) -> Selection: ...
def best_of(
    generate: Generate,
    n: int = 3,
    verify: Verify = None,
    cost: Cost = None,
    *,
    detail: bool = False,
    **more: Unpack[More],
) -> str | Selection:
    """Return the text with the lowest ``cost`` among those of ``n`` that pass ``verify``.

    With ``detail``, return the whole Selection. ``more``: ``llm`` (the model that answers if
    ``generate`` is a prompt), ``language``, ``temperature``, ``seed``, ``run`` (a folder that
    stores every answer; stored answers are not requested again), ``budget``, and Strategy settings:
    ``max_iterations``, the thresholds, ``cost_is``, ``fresh_samples``. Works in scripts, threads
    and notebooks.
    """
    selection = event_loop.run(abest_of(generate, n, verify, cost, **more))
    return selection if detail else str(selection.output)


async def abest_of(
    generate: Generate,
    n: int = 3,
    verify: Verify = None,
    cost: Cost = None,
    **more: Unpack[More],
) -> Selection:
    """Like ``best_of``, for async code; always returns the whole Selection."""
    llm, run, budget = more.pop("llm", None), more.pop("run", None), more.pop("budget", None)
    language, temperature = more.pop("language", "en"), more.pop("temperature", None)
    seed = more.pop("seed", None)
    check_language(language)
    strategy = Strategy(verify, cost, n, **cast(StrategySettings, more))
    task = generate if isinstance(generate, str) else ""
    agent = Agent(str, task=task, writes="text", llm=llm, strategy=strategy)
    write = _writer(generate, agent, language, temperature, seed)
    search = Search(Work(strategy, agent, write, str.strip, _check))
    settings_used = {"language": language, "temperature": temperature, "seed": seed}
    settings = (
        configuration(agent, agent.writers() if task else [], settings_used)
        if run or budget
        else {}
    )
    selection = await event_loop.visit(_search(search, agent, run, settings, budget))
    if selection.winner is None:
        raise nothing_valid(selection)
    return selection


async def _search(
    search: Search,
    agent: Agent,
    run: RunFolder | None,
    settings: Mapping[str, JsonObject],
    budget: Budget | None,
) -> Selection:
    async with everything_in(run, settings, budget) as under_way:
        selection = await _select(search, agent)
        if under_way:
            await keep_candidates(under_way, selection, search.asked)
    return selection


async def _select(search: Search, agent: Agent) -> Selection:
    strategy = agent.strategy
    await search.run()
    places = search.ranked()
    if not places:
        return Selection(task=agent.task, candidates=search.candidates(), cost_is=strategy.cost_is)
    text = search.last(places[0]).code
    with collecting_keys(search.asked[places[0]]):
        fresh = await fresh_cost(strategy, text, agent)
    return Selection(
        task=agent.task,
        candidates=search.candidates(places[0]),
        output=text,
        raw=text,
        cost_is=strategy.cost_is,
        fresh=fresh,
    )


def _check(text: str) -> list[str]:
    return [] if text else [Message("it is empty")]


def _writer(
    generate: object, agent: Agent, language: str, temperature: float | None, seed: int | None
) -> Write:
    if callable(generate):
        return from_function(generate)
    if not isinstance(generate, str) or not generate.strip():
        raise SetupError("generate must be a prompt (a string) or a function that writes a text")
    start = Prompt((ChatMessage("user", generate),))
    return Conversations(
        agent.writers(), start, agent.strategy.num_candidates, language, temperature, seed
    ).write
