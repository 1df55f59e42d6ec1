from __future__ import annotations

import json

from support.asking import ask, open_at
from support.fake_provider import FakeProvider, Raw, always


def test_the_seed_has_another_name_and_log_probabilities_none(provider: FakeProvider) -> None:
    ask(open_at(provider, "mistral"), seed=7, logprobs=3)
    assert provider.bodies[0]["random_seed"] == 7
    assert not {"seed", "logprobs", "top_logprobs"} & provider.bodies[0].keys()


def test_a_reasoning_model_answers_in_parts(provider: FakeProvider) -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "FAIL? No."}]}
    message = {"role": "assistant", "content": [thinking, {"type": "text", "text": "PASS"}]}
    provider.faults = always(
        Raw(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())
    )
    assert ask(open_at(provider, "mistral")).text == "PASS"
