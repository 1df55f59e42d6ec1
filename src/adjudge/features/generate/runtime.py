"""Run agents: have candidates written, choose one, run it in the sandbox, and check its value."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

from adjudge.core.aio import event_loop
from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.message import Prompt, Request, Usage
from adjudge.core.engine.estimate import CostEstimate, Known, tokens_of
from adjudge.core.engine.run import RunFolder, everything_in
from adjudge.core.engine.session import collecting_keys
from adjudge.core.engine.written_text import writing_ballot, writing_key
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import ModelLike, OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.prompts.renderer import ProgramWanted, check_language, render_program
from adjudge.core.verdicts.code_text import extract_code
from adjudge.errors import SandboxError, SetupError
from adjudge.features.generate.agent import Agent
from adjudge.features.generate.assessment import fresh_cost
from adjudge.features.generate.candidate import Selection, nothing_valid
from adjudge.features.generate.judge import SampledCriteria
from adjudge.features.generate.program import Ended, Inputs, Program, check_inputs, run_code
from adjudge.features.generate.qualitative import QualitativeCriteria
from adjudge.features.generate.quantitative import QuantitativeCriteria
from adjudge.features.generate.run_folder import configuration, keep_candidates
from adjudge.features.generate.sandbox.base import Limits, Sandbox
from adjudge.features.generate.sandbox.finder import find_sandbox
from adjudge.features.generate.search import Search, Watcher, Work, Write
from adjudge.features.generate.shape import WrongShape, describe
from adjudge.features.generate.static_check import DEFAULT_IMPORTS, static_check
from adjudge.features.generate.strategy import USUAL, Strategy
from adjudge.features.generate.writer import Conversations, from_function
from adjudge.messages import Message

# Tokens that a candidate is likely to have at most, and with the reasons against it once more.
_LONGEST_TEXT = 1000
_PLACEHOLDER = "x = 1\n" * 500
_NOTHING = CostEstimate(0, 0, (0, 0), (0, 0), (0.0, 0.0))


def forecast(
    agent: Agent,
    writer: Conversations | None,
    known: Known | None = None,
    prices: PriceTable | None = None,
) -> CostEstimate:
    """Estimate the cost of a strategy.

    Custom functions, and models called as tools, are not included.
    """
    strategy, table = agent.strategy, prices or PriceTable.load()
    candidates = range(strategy.num_candidates)
    total = replace(_NOTHING, rows=len(candidates))
    for model, request in map(writer.request, candidates) if writer else ():
        total += _estimate_writing(model, request, strategy.max_iterations, known or Known(), table)
    weighings = strategy.max_iterations * len(candidates)
    for part in (*strategy.verifiers, *strategy.costings):
        if isinstance(part, SampledCriteria):
            fresh = strategy.fresh_samples / part.votes if part in strategy.costings else 0.0
            total += _estimate_judging(part, agent, weighings + fresh, table)
    return total


def _estimate_writing(
    model: OpenModel, request: Request, tries: int, known: Known, prices: PriceTable
) -> CostEstimate:
    """Estimate the cost of writing one candidate."""
    ballot = writing_ballot(model, request)
    answered = known.recall([ballot], [writing_key(model, ballot, known.wordings)])[0] is not None
    there = answered or model.has_reply(request)
    low, high = tokens_of(request.prompt.text)
    fewest = Usage() if there else Usage(1, low, 1)
    remaining_tries = tries - there
    # A failed try is part of the conversation of the next.
    earlier = sum(2 * _LONGEST_TEXT * number for number in range(tries))
    most = Usage(remaining_tries, remaining_tries * high + earlier, remaining_tries * _LONGEST_TEXT)
    spent = [prices.cost(model.name, usage) for usage in (fewest, most)]
    return CostEstimate(
        0,
        int(answered),
        (fewest.calls, most.calls),
        (fewest.tokens, most.tokens),
        (spent[0] or 0.0, spent[1] or 0.0),
        (model.name,) if None in spent else (),
    )


def _estimate_judging(
    part: QualitativeCriteria | QuantitativeCriteria, agent: Agent, times: float, prices: PriceTable
) -> CostEstimate:
    """Estimate the cost of judging with one criterion; the lower bound is 0."""
    fields = {"text" if agent.writes == "text" else "code": _PLACEHOLDER}
    once = part.estimate(
        [Instance({"task": agent.task, **fields} if agent.task else fields)], prices=prices
    )
    calls, tokens, usd = (end[1] * times for end in (once.calls, once.tokens, once.usd))
    # The lower end is 0: possibly no candidate gets this far.
    return CostEstimate(0, 0, (0, round(calls)), (0, round(tokens)), (0.0, usd), once.unpriced)


Given = Inputs | None
Kept = RunFolder | None
Limit = Budget | None


@dataclass(eq=False)
class Runtime:
    """Runs agents. Code written by a model runs only in a sandbox, unless ``sandbox`` is "none"."""

    timeout: float = 30.0
    """Seconds that the chosen code may take."""
    sandbox: str | Sandbox | None = None
    """A sandbox or its name; None: the first that works here. "none" runs the code without one,
    with all your rights.
    """
    limits: Limits | None = field(default=None, kw_only=True)
    """Limits of the code other than ``timeout``; None: the usual ones, and as much CPU time as
    ``timeout``.
    """
    llm: ModelLike | Sequence[ModelLike] | None = field(default=None, kw_only=True)
    """The model that writes the code of agents that name none."""
    strategy: Strategy | None = field(default=None, kw_only=True)
    """The choice between candidates of agents without their own strategy."""
    allowed_imports: Sequence[str] = field(default=tuple(sorted(DEFAULT_IMPORTS)), kw_only=True)
    """Modules of the standard library that the code may import: no installed package can be seen
    inside.
    """
    language: str = field(default="en", kw_only=True)
    """Language of the prompts: "en" or "ru"."""
    temperature: float | None = field(default=None, kw_only=True)
    """Temperature of the candidates: by default the model's own setting, else 0 for one and 1 for
    several.
    """
    seed: int | None = field(default=None, kw_only=True)
    on_try: Watcher | None = field(default=None, kw_only=True)
    """Called with a candidate's number and each of its tries, as they end."""
    prices: PriceTable | None = field(default=None, kw_only=True)
    """Prices; by default those of ``PriceTable.load()``."""
    last: Selection | None = field(default=None, init=False, repr=False)
    """All candidates of the last call, also when it raised."""

    _limits: Limits = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_language(self.language)
        _check_imports(self.allowed_imports, self.sandbox)
        self._limits = replace(self.limits or Limits(cpu=self.timeout), wall=self.timeout)

    @overload
    async def ajit(
        self,
        agent: Agent,
        task: str,
        *,
        inputs: Given = ...,
        detail: Literal[False] = ...,
        run: Kept = ...,
        budget: Limit = ...,
    ) -> Any: ...
    @overload
    async def ajit(
        self,
        agent: Agent,
        task: str,
        *,
        inputs: Given = ...,
        detail: Literal[True],
        run: Kept = ...,
        budget: Limit = ...,
    ) -> Selection: ...
    async def ajit(
        self,
        agent: Agent,
        task: str,
        *,
        inputs: Inputs | None = None,
        detail: bool = False,
        run: RunFolder | None = None,
        budget: Budget | None = None,
    ) -> Any:
        """Have code written for the task, choose the best, run it, and return its checked output.

        With ``detail``, return the whole Selection instead. ``run``: a folder that stores the
        answers of writers and judges; stored answers are not requested again. ``budget``: an
        ``adjudge.Budget``; at its limit BudgetSpent is raised. Raises NoValidCandidate if no
        candidate may be used.
        """
        selection, _ = await event_loop.visit(self._search(agent, task, inputs or {}, run, budget))
        return selection if detail else selection.output

    jit = sync_edge(ajit)

    async def aaot(
        self,
        agent: Agent,
        task: str = "",
        *,
        inputs: Inputs | None = None,
        run: RunFolder | None = None,
        budget: Budget | None = None,
    ) -> Program:
        """Have code written for the task and choose once; the program can then run any number of
        times.

        ``task``: by default the agent's description. ``inputs``: an example to try candidates with,
        as in ``jit``; without it, the cheapest valid code is chosen without running it. ``run`` and
        ``budget`` are as for ``jit``.
        """
        chosen_task = task or agent.description
        selection, sandbox = await event_loop.visit(
            self._search(agent, chosen_task, inputs, run, budget)
        )
        assert selection.winner is not None
        return Program(
            selection.winner.code,
            self._with_task(agent, chosen_task),
            selection,
            sandbox,
            self._limits,
        )

    aot = sync_edge(aaot)

    def estimate(
        self,
        agent: Agent,
        task: str,
        *,
        inputs: Inputs | None = None,
        known: Known | None = None,
    ) -> CostEstimate:
        """Estimate the cost of ``jit`` without sending any request.

        ``known`` provides the answers of an earlier run.
        """
        _check_task(task)
        check_inputs(agent, inputs or {})
        agent_with_task = self._with_task(agent, task)
        writer = (
            None
            if agent_with_task.strategy.generate
            else self._conversations(agent_with_task, inputs or {})
        )
        return forecast(agent_with_task, writer, known, self.prices)

    async def _search(
        self,
        agent: Agent,
        task: str,
        inputs: Inputs | None,
        run: RunFolder | None,
        budget: Budget | None,
    ) -> tuple[Selection, Sandbox]:
        """Find the best candidate; raise NoValidCandidate if there is none.

        Without inputs, candidates are not run.
        """
        _check_task(task)
        if inputs is not None:
            check_inputs(agent, inputs)
        # before anything is written: without a sandbox nothing could be run
        sandbox = await self._sandbox()
        agent_with_task = self._with_task(agent, task)
        search = Search(self._work(agent_with_task, inputs or {}))
        settings = self._configuration(agent_with_task, inputs or {}) if run or budget else {}
        async with everything_in(run, settings, budget, self.prices) as under_way:
            self.last = await self._select(sandbox, agent_with_task, search, inputs)
            if under_way:
                await keep_candidates(under_way, self.last, search.asked)
        if self.last.winner is None:
            raise nothing_valid(self.last)
        return self.last, sandbox

    def _with_task(self, agent: Agent, task: str) -> Agent:
        """Return the agent with its task, and with the runtime's strategy if it has none of its
        own.
        """
        strategy = (
            self.strategy
            if self.strategy is not None and agent.strategy is USUAL
            else agent.strategy
        )
        return replace(agent, task=task, strategy=strategy)

    async def _select(
        self, sandbox: Sandbox, agent: Agent, search: Search, inputs: Inputs | None
    ) -> Selection:
        while search.unfinished:
            await search.run()
            for place in search.ranked():
                ended = (
                    None
                    if inputs is None
                    else await self._run(sandbox, agent, search.last(place).code, inputs)
                )
                if not isinstance(ended, str):
                    return await self._build_selection(agent, search, place, ended)
                search.fail(place, ended)
        return Selection(
            task=agent.task, candidates=search.candidates(), cost_is=agent.strategy.cost_is
        )

    def _configuration(self, agent: Agent, inputs: Inputs) -> dict[str, JsonDict]:
        settings = {
            **some_of(self, "language", "temperature", "seed"),
            "inputs": dict(inputs),
        }
        writers = [] if agent.strategy.generate else agent.writers(self.llm)
        return configuration(agent, writers, settings)

    async def _sandbox(self) -> Sandbox:
        if self.sandbox is None or isinstance(self.sandbox, str):
            return await asyncio.to_thread(find_sandbox, self.sandbox)
        return self.sandbox

    def _work(self, agent: Agent, inputs: Inputs) -> Work:
        names = (*agent.toolbox, *agent.inputs, *inputs)
        return Work(
            strategy=agent.strategy,
            agent=agent,
            write=self._writer(agent, inputs),
            extract=extract_code,
            check=lambda code: static_check(code, self.allowed_imports, names),
            on_try=self.on_try,
        )

    def _writer(self, agent: Agent, inputs: Inputs) -> Write:
        if agent.strategy.generate is not None:
            return from_function(agent.strategy.generate, agent.task, agent)
        return self._conversations(agent, inputs).write

    def _conversations(self, agent: Agent, inputs: Inputs) -> Conversations:
        models, start = agent.writers(self.llm), _first_prompt(self, agent, inputs)
        return Conversations(
            models,
            start,
            agent.strategy.num_candidates,
            self.language,
            temperature=self.temperature,
            seed=self.seed,
        )

    async def _run(self, sandbox: Sandbox, agent: Agent, code: str, inputs: Inputs) -> Ended | str:
        """Run code and return its checked output, or the reason why it failed."""
        try:
            return await run_code(sandbox, agent, code, inputs, self._limits)
        except SandboxError as error:
            return Message(
                "it failed when run: {name}: {error}", name=type(error).__name__, error=error
            )
        except WrongShape as error:
            return Message("it ran, but {error}", error=error)

    async def _build_selection(
        self, agent: Agent, search: Search, place: int, ended: Ended | None
    ) -> Selection:
        with collecting_keys(search.asked[place]):
            fresh = await fresh_cost(agent.strategy, search.last(place).code, agent)
        return Selection(
            task=agent.task,
            candidates=search.candidates(place),
            output=ended and ended.output,
            raw=ended and ended.execution.output,
            stdout=ended.execution.stdout if ended else "",
            cost_is=agent.strategy.cost_is,
            fresh=fresh,
        )


def _first_prompt(runtime: Runtime, agent: Agent, inputs: Inputs) -> Prompt:
    variables = agent.variables() or [
        (name, type(value).__name__) for name, value in inputs.items()
    ]
    request = ProgramWanted(
        task=agent.task,
        output=describe(agent.output_schema),
        description=agent.description,
        inputs=variables,
        tools=agent.manual(),
        imports=sorted(runtime.allowed_imports),
    )
    return render_program(request, runtime.language)


def _check_task(task: str) -> None:
    if not isinstance(task, str) or not task.strip():
        raise SetupError("the task is empty: describe in a sentence what the code should do")


def _check_imports(allowed: Sequence[str], sandbox: str | Sandbox | None) -> None:
    """Raise a SetupError for modules outside the standard library, unless the sandbox is custom."""
    foreign = sorted({name.partition(".")[0] for name in allowed} - sys.stdlib_module_names)
    # A custom sandbox may hold any package; adjudge's own hold the standard library.
    if foreign and (sandbox is None or isinstance(sandbox, str)):
        raise SetupError(
            "allowed_imports names {foreign}, but the sandbox has only the standard library: "
            "give the agent a tool that uses these packages, because tools run outside",
            foreign=", ".join(foreign),
        )
