"""Runs of agents for tests, and models that answer about them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from adjudge.features.agents.trajectory import Step, ToolCall, ToolDefinition, Trajectory

MESSAGES: list[dict[str, object]] = [
    {"role": "system", "content": "Be kind.\n\nAsk before you pay."},
    {"role": "user", "content": "Pay 5 to Bob"},
    {
        "role": "assistant",
        "content": "I will.",
        "tool_calls": [
            {"id": "1", "function": {"name": "pay", "arguments": '{"to":"Bob","amount":5}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": "no money left"},
    {"role": "assistant", "content": "I paid Bob 5 euros."},
]


def payment(*, error: str | None = None, answer: str | None = "I paid Bob.") -> Trajectory:
    """Step 1 the user, 2 and 3 calls, 4 the answer."""
    steps = [
        Step(1, "user", "said", "Pay 5 to Bob"),
        Step(2, "assistant", "called", "", ToolCall("balance", {}, "the account holds 7 euros")),
        Step(
            3,
            "payer",
            "called",
            "",
            ToolCall("pay", {"to": "Bob", "amount": 5}, None if error else "paid 5 to Bob", error),
        ),
    ]
    if answer:
        steps.append(Step(4, "assistant", "said", answer))
    tools = (ToolDefinition("pay", "Pay somebody. With care."), ToolDefinition("balance"))
    return Trajectory("Pay 5 to Bob", tuple(steps), answer, "Be kind.\n\nAsk first.", tools)


def answering(
    option: str, evidence: Sequence[object] = (), **beside: object
) -> Callable[[str], str]:
    """A model that says the same of everything, and keeps what it was asked in ``.prompts``."""

    def model(prompt: str) -> str:
        prompts.append(prompt)
        said = {"explanation": "so it is", "evidence": list(evidence), **beside}
        return json.dumps({**said, "selected_option": option})

    prompts: list[str] = []
    model.prompts = prompts  # type: ignore[attr-defined]
    return model


def material_of(prompt: str) -> str:
    """What is judged, without the instructions."""
    return prompt[prompt.rindex("The material:") :]


def outside_of(prompt: str) -> str:
    """The prompt without what stands between its marks."""
    return re.sub(r"<data-([0-9a-f]{12}) [^\n]*>\n.*?\n</data-\1>", "", prompt, flags=re.DOTALL)
