"""A task and an agent in, a checked value out: candidates are written, chosen, and run in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

from adjudge.aio import event_loop
from adjudge.domain.message import Prompt
from adjudge.engine.estimate import Estimate, Known
from adjudge.engine.run import RunFolder, everything_in, gathered
from adjudge.errors import SandboxError, SetupError
from adjudge.gateway.layers.budget import Budget, raise_if_halted
from adjudge.gateway.open import ModelLike
from adjudge.prompts.generation import ProgramWanted, render_program
from adjudge.prompts.template import check_language
from adjudge.sandbox.base import Execution, Limits, Sandbox
from adjudge.sandbox.find import find_sandbox
from adjudge.strategy.agent import Agent
from adjudge.strategy.candidate import Selection, nothing_valid
from adjudge.strategy.forecast import forecast
from adjudge.strategy.record import configuration, keep_candidates
from adjudge.strategy.search import Search, Watcher, Work, Write
from adjudge.strategy.shape import WrongShape, conform, describe
from adjudge.strategy.static_check import DEFAULT_IMPORTS, static_check
from adjudge.strategy.weigh import fresh_cost
from adjudge.strategy.writer import Conversations, from_function
from adjudge.verdicts.code_text import extract_code


@dataclass(frozen=True, slots=True)
class Ended:
    """Code that came to its end, and its output as the agent wants it."""

    output: object
    execution: Execution


@dataclass(eq=False)
class Runtime:
    """Runs agents. Code that a model wrote runs in a sandbox and nowhere else."""

    timeout: float = 30.0
    """Seconds that the chosen code may take."""
    sandbox: str | Sandbox | None = None
    """A sandbox or its name; None: the first that works here. "none" runs the code without one, with all your rights."""
    limits: Limits | None = field(default=None, kw_only=True)
    """What the code may use up besides ``timeout``; None: the usual, and as much CPU time as ``timeout``."""
    llm: ModelLike | Sequence[ModelLike] | None = field(default=None, kw_only=True)
    """Who writes the code of agents that name no model."""
    allowed_imports: Sequence[str] = field(default=tuple(sorted(DEFAULT_IMPORTS)), kw_only=True)
    language: str = field(default="en", kw_only=True)
    """Of the prompts: "en" or "ru"."""
    temperature: float | None = field(default=None, kw_only=True)
    """Of the candidates: by default the model's own setting, else 0 for one and 1 for several."""
    seed: int | None = field(default=None, kw_only=True)
    on_try: Watcher | None = field(default=None, kw_only=True)
    """Called with a candidate's number and each of its tries, as they end."""
    last: Selection | None = field(default=None, init=False, repr=False)
    """All candidates of the last call, also when it raised."""

    _limits: Limits = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_language(self.language)
        self._limits = replace(self.limits or Limits(cpu=self.timeout), wall=self.timeout)

    @overload
    def jit(
        self,
        agent: Agent,
        task: str,
        *,
        inputs: Mapping[str, object] | None = None,
        detail: Literal[False] = False,
        run: RunFolder | None = None,
        budget: Budget | None = None,
    ) -> Any: ...
    @overload
    def jit(
        self,
        agent: Agent,
        task: str,
        *,
        inputs: Mapping[str, object] | None = None,
        detail: Literal[True],
        run: RunFolder | None = None,
        budget: Budget | None = None,
    ) -> Selection: ...
    def jit(
        self,
        agent: Agent,
        task: str,
        *,
        inputs: Mapping[str, object] | None = None,
        detail: bool = False,
        run: RunFolder | None = None,
        budget: Budget | None = None,
    ) -> Any:
        """Have code written for the task, choose, run, and give its checked output; with ``detail`` the whole Selection.

        ``run``: a folder in which every answer is kept, of writers and judges alike; what it holds already is not asked again.
        ``budget``: what may be spent; at its limit BudgetSpent is raised. Works in scripts, threads and notebooks. Raises
        NoValidCandidate when no candidate may be used.
        """
        selection = event_loop.run(self._selected(agent, task, inputs or {}, run, budget))
        return selection if detail else selection.output

    async def ajit(
        self,
        agent: Agent,
        task: str,
        *,
        inputs: Mapping[str, object] | None = None,
        detail: bool = False,
        run: RunFolder | None = None,
        budget: Budget | None = None,
    ) -> Any:
        """``jit`` for async code."""
        selection = await event_loop.visit(self._selected(agent, task, inputs or {}, run, budget))
        return selection if detail else selection.output

    def estimate(
        self, agent: Agent, task: str, *, inputs: Mapping[str, object] | None = None, known: Known | None = None
    ) -> Estimate:
        """What ``jit`` would take; nothing is asked. ``known`` says what a run was answered already."""
        _check_task(agent, task, inputs or {})
        asked = replace(agent, task=task)
        writer = None if agent.strategy.generate else self._conversations(asked, inputs or {})
        return forecast(asked, writer, known)

    async def _selected(
        self, agent: Agent, task: str, inputs: Mapping[str, object], run: RunFolder | None, budget: Budget | None
    ) -> Selection:
        _check_task(agent, task, inputs)
        sandbox = await self._sandbox()  # before anything is written: without one nothing could be run
        asked = replace(agent, task=task)
        search = Search(self._work(asked, inputs))
        settings = self._configuration(asked, inputs) if run or budget else {}
        async with everything_in(run, settings, budget) as under_way:
            self.last = await self._select(sandbox, asked, search, inputs)
            await keep_candidates(under_way, self.last, search.asked)
        if self.last.winner is None:
            raise nothing_valid(self.last)
        return self.last

    async def _select(self, sandbox: Sandbox, agent: Agent, search: Search, inputs: Mapping[str, object]) -> Selection:
        while search.unfinished:
            await search.run()
            for place in search.ranked():
                ended = await self._run(sandbox, agent, search.last(place).code, inputs)
                if not isinstance(ended, str):
                    return await self._chosen(agent, search, place, ended)
                search.fail(place, ended)
        return Selection(task=agent.task, candidates=search.candidates(), cost_is=agent.strategy.cost_is)

    def _configuration(self, agent: Agent, inputs: Mapping[str, object]) -> dict[str, dict[str, Any]]:
        own = {"language": self.language, "temperature": self.temperature, "seed": self.seed, "inputs": dict(inputs)}
        writers = [] if agent.strategy.generate else agent.writers(self.llm)
        return configuration(agent, writers, own)

    async def _sandbox(self) -> Sandbox:
        if self.sandbox is None or isinstance(self.sandbox, str):
            return await asyncio.to_thread(find_sandbox, self.sandbox)
        return self.sandbox

    def _work(self, agent: Agent, inputs: Mapping[str, object]) -> Work:
        known = (*agent.toolbox, *inputs)
        return Work(
            strategy=agent.strategy,
            agent=agent,
            write=self._writer(agent, inputs),
            extract=extract_code,
            check=lambda code: static_check(code, self.allowed_imports, known),
            on_try=self.on_try,
        )

    def _writer(self, agent: Agent, inputs: Mapping[str, object]) -> Write:
        if agent.strategy.generate is not None:
            return from_function(agent.strategy.generate, agent.task, agent)
        return self._conversations(agent, inputs).write

    def _conversations(self, agent: Agent, inputs: Mapping[str, object]) -> Conversations:
        models, start = agent.writers(self.llm), _first_prompt(self, agent, inputs)
        return Conversations(
            models, start, agent.strategy.num_candidates, self.language, temperature=self.temperature, seed=self.seed
        )

    async def _run(self, sandbox: Sandbox, agent: Agent, code: str, inputs: Mapping[str, object]) -> Ended | str:
        """What it gave, checked, or why it may not be used."""
        try:
            ended = await sandbox.run(code, inputs=inputs, tools=agent.toolbox, limits=self._limits)
            raise_if_halted()  # where the run ended while a tool asked, that is what there is to say
            if not ended.has_output:
                return "it ran, but it set no variable named output"
            return Ended(conform(ended.output, agent.output_schema), ended)
        except SandboxError as error:
            raise_if_halted()
            return f"it failed when run: {type(error).__name__}: {error}"
        except WrongShape as error:
            return f"it ran, but {error}"

    async def _chosen(self, agent: Agent, search: Search, place: int, ended: Ended) -> Selection:
        with gathered(search.asked[place]):
            fresh = await fresh_cost(agent.strategy, search.last(place).code, agent)
        return Selection(
            task=agent.task,
            candidates=search.candidates(place),
            output=ended.output,
            raw=ended.execution.output,
            stdout=ended.execution.stdout,
            cost_is=agent.strategy.cost_is,
            fresh=fresh,
        )


def _first_prompt(runtime: Runtime, agent: Agent, inputs: Mapping[str, object]) -> Prompt:
    typed = agent.variables() or [(name, type(value).__name__) for name, value in inputs.items()]
    wanted = ProgramWanted(
        task=agent.task,
        output=describe(agent.output_schema),
        description=agent.description,
        inputs=typed,
        tools=agent.manual(),
        imports=sorted(runtime.allowed_imports),
    )
    return render_program(wanted, runtime.language)


def _check_task(agent: Agent, task: str, inputs: Mapping[str, object]) -> None:
    if not isinstance(task, str) or not task.strip():
        raise SetupError("the task is empty: say in a sentence what the code is to do")
    missing = [name for name in agent.inputs if name not in inputs]
    if missing:
        raise SetupError(f"the agent needs the inputs {', '.join(missing)}: give them with inputs={{…}}")
    both = [name for name in inputs if name in agent.toolbox]
    if both:
        raise SetupError(f"{', '.join(both)} cannot be an input and a tool at once: give one of them another name")
    for name, value in inputs.items():
        try:
            conform(value, agent.inputs.get(name))
        except WrongShape as error:
            raise SetupError(f"input {name!r}: {error}") from None
