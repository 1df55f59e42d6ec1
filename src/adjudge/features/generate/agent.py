"""The output that is wanted, and what the code may use to compute it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from keyword import iskeyword
from typing import Any, Literal, get_type_hints

from adjudge.core.gateway.opener import ModelLike, OpenModel, open_panel
from adjudge.errors import SetupError
from adjudge.features.generate.llm import LLM
from adjudge.features.generate.shape import check_schema, describe
from adjudge.features.generate.strategy import USUAL, Strategy
from adjudge.messages import Message

Tool = Callable[..., object]


@dataclass(frozen=True)
class Agent:
    """Turns a task into a value, using code written by a model.

    Example: ``Runtime().jit(Agent(int, llm="openai/gpt-4o-mini"), "Count the primes below 100.")``
    """

    output_schema: Any = None
    """A type (int, list[int], a dataclass, a TypedDict, a pydantic model) or a JSON schema; None:
    any JSON value.
    """
    name: str = "agent"
    description: str = ""
    """Shown to the model before the task."""
    input_schema: Any = None
    """The inputs by name, each with its type: a dict, a dataclass, a TypedDict
    or a pydantic model.
    """
    tools: Sequence[Tool] | Mapping[str, Tool] = ()
    """Functions, sync or async, and LLMs that the code may call; they run here, outside the
    sandbox.
    """
    llm: ModelLike | Sequence[ModelLike] | None = None
    """The model that writes the code; several models take turns over the candidates."""
    strategy: Strategy = USUAL
    """The choice between candidates; by default the runtime's."""
    _: KW_ONLY
    task: str = ""
    """The current task, set by the runtime for ``verify`` and ``cost``, which are called with the
    agent.
    """
    writes: Literal["code", "text"] = "code"

    def __post_init__(self) -> None:
        check_schema(self.output_schema)
        for name, tool in self.toolbox.items():
            if not callable(tool):
                raise SetupError(
                    "tool {name!r} is not a function: {tool!r:.80}", name=name, tool=tool
                )
            if not name.isidentifier() or iskeyword(name):
                raise SetupError(
                    "tool {name!r} cannot be called from code: give it a name with "
                    "tools={{'name': function}}",
                    name=name,
                )

    @property
    def toolbox(self) -> dict[str, Tool]:
        """The tools by their names in the code; repeated names get a number."""
        if isinstance(self.tools, Mapping):
            return dict(self.tools)
        box: dict[str, Tool] = {}
        for tool in self.tools:
            base = name = getattr(tool, "__name__", None) or type(tool).__name__
            number = 1
            while name in box:
                number += 1
                name = f"{base}_{number}"
            box[name] = tool
        return box

    @property
    def inputs(self) -> dict[str, object]:
        """The inputs' types by name."""
        schema = self.input_schema
        if schema is None:
            return {}
        if isinstance(schema, Mapping):
            return dict(schema.get("properties", schema))
        if isinstance(fields := getattr(schema, "model_fields", None), Mapping):
            return {name: model_field.annotation for name, model_field in fields.items()}
        return get_type_hints(schema)

    def manual(self) -> list[tuple[str, str]]:
        """Return (signature, first docstring line) per tool, as shown to the model."""
        return [
            (f"{name}{_signature(tool)}", (inspect.getdoc(tool) or "").partition("\n")[0])
            for name, tool in self.toolbox.items()
        ]

    def variables(self) -> list[tuple[str, str]]:
        """Return (name, type description) per input, as shown to the model."""
        return [(name, describe(kind)) for name, kind in self.inputs.items()]

    def writers(self, otherwise: ModelLike | Sequence[ModelLike] | None = None) -> list[OpenModel]:
        """Return the models that write: the agent's own, else ``otherwise``, else an LLM tool's,
        else the criteria's.

        Raise a SetupError if there is none.
        """
        llm_tools = [tool for tool in self.toolbox.values() if isinstance(tool, LLM)]
        writer = next(
            (
                candidate
                for candidate in (self.llm, otherwise, *llm_tools[:1], self.strategy.judge_model)
                if candidate is not None
            ),
            None,
        )
        if writer is None:
            raise SetupError(_NOBODY_WRITES[self.writes])
        return list(open_panel(writer).values())


# The embedded model is none of them: it was made to choose among options.
_NOBODY_WRITES = {
    "code": Message(
        "there is no model to write the code: name one with Agent(llm=…), such as "
        "Agent(llm='openai/gpt-4o-mini'), or with Runtime(llm=…) for all agents"
    ),
    "text": Message(
        "there is no model to write the texts: name one with llm=…, such as "
        "llm='openai/gpt-4o-mini', or pass a function that writes them instead of the prompt"
    ),
}


def _signature(tool: Tool, *, evaluated: bool = True) -> str:
    """Return a tool's signature as text; "(…)" if it cannot be inspected."""
    try:
        # eval_str removes the quotes of annotations, but fails if a name is unknown here.
        return str(inspect.signature(tool, eval_str=evaluated))
    except NameError:
        return _signature(tool, evaluated=False)
    except (TypeError, ValueError):
        return "(…)"
