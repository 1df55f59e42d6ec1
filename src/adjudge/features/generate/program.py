"""Code that was chosen once and can run in the sandbox any number of times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.gateway.layers.budget import raise_if_halted
from adjudge.errors import SandboxError, SetupError
from adjudge.features.generate.agent import Agent
from adjudge.features.generate.candidate import Selection
from adjudge.features.generate.sandbox.base import Execution, Limits, Sandbox
from adjudge.features.generate.shape import WrongShape, conform
from adjudge.messages import Message

Inputs = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Ended:
    """A finished execution, with its output converted to the agent's output type."""

    output: object
    execution: Execution


@dataclass(frozen=True)
class Program:
    """Code that was written and chosen once, by ``Runtime.aot``.

    Running it asks no model, except through its tools.
    """

    code: str
    agent: Agent
    selection: Selection = field(repr=False)
    """All candidates, and why this one was taken."""
    sandbox: Sandbox = field(repr=False)
    limits: Limits = field(repr=False)

    async def arun(self, inputs: Inputs | None = None) -> object:
        """Run the program and return its checked output; raise a SandboxError if it fails."""
        check_inputs(self.agent, inputs or {})
        try:
            ended = await run_code(self.sandbox, self.agent, self.code, inputs or {}, self.limits)
        except WrongShape as error:
            raise SandboxError("the program ran, but {error}", error=error) from None
        return ended.output

    run = sync_edge(arun)

    def __call__(self, **inputs: object) -> object:
        """Run the program with the inputs as keyword arguments, in sync code."""
        return self.run(inputs)


async def run_code(
    sandbox: Sandbox, agent: Agent, code: str, inputs: Inputs, limits: Limits
) -> Ended:
    """Run code and return its checked output.

    Raise a SandboxError if it fails, and WrongShape if its output is missing or has the wrong type.
    """
    try:
        ended = await sandbox.run(code, inputs=inputs, tools=agent.toolbox, limits=limits)
    except SandboxError:
        # If the run was halted while a tool asked, that is the error to report.
        raise_if_halted()  # where the run ended while a tool asked, that is what there is to say
        raise
    raise_if_halted()
    if not ended.has_output:
        raise WrongShape(Message("it did not set the variable output"))
    return Ended(conform(ended.output, agent.output_schema), ended)


def check_inputs(agent: Agent, inputs: Inputs) -> None:
    """Raise a SetupError if inputs are missing, have a tool's name, or have the wrong type."""
    missing = [name for name in agent.inputs if name not in inputs]
    if missing:
        raise SetupError(
            "the agent needs the inputs {missing}: pass them with inputs={{…}}",
            missing=", ".join(missing),
        )
    both = [name for name in inputs if name in agent.toolbox]
    if both:
        raise SetupError(
            "{both} cannot be both an input and a tool: rename one of them",
            both=", ".join(both),
        )
    for name, value in inputs.items():
        try:
            conform(value, agent.inputs.get(name))
        except WrongShape as error:
            raise SetupError("input {name!r}: {error}", name=name, error=error) from None
