"""What reading the shared beginning once saves, in prompt tokens and in CPU seconds, and what the
adapter costs.

python benchmarks/prefix.py [reuse] [adapter]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from statistics import median

from adjudge import AspectCritic, Instance
from adjudge.core.domain.message import Prompt
from adjudge.core.prompts.renderer import render_likelihood
from adjudge.features.local.llama import Llama
from adjudge.features.local.weights.adapters import adapter_for
from adjudge.features.local.weights.store import find

TEXTS = [
    f"The tower number {place} is in Paris, and it was painted last year." for place in range(20)
]


def main() -> None:
    critic = AspectCritic.harmlessness()
    ballots = [critic.plan(Instance({"response": text}), [])[0] for text in TEXTS]
    prompts = [render_likelihood(ballot, "yes_no", []) for ballot in ballots]
    wanted = sys.argv[1:] or ["reuse", "adapter"]
    if "reuse" in wanted:
        compare_reuse(prompts)
    if "adapter" in wanted:
        compare_adapter(prompts[:10])


def compare_reuse(prompts: Sequence[Prompt]) -> None:
    """Twenty texts on one criterion, the shared beginning read every time or once."""
    llama = Llama(find("smollm2-135m"))
    llama.score(prompts[0], ("Yes", "No"))
    spent = {}
    for name, forgets in (("without reuse", True), ("with reuse", False)):
        llama._prefix = []
        start, tokens = time.process_time(), 0
        for prompt in prompts:
            if forgets:
                llama._prefix = []
            tokens += llama.score(prompt, ("Yes", "No")).evaluated_tokens
        spent[name] = (tokens, time.process_time() - start)
        print(f"{name:14} {tokens:6} prompt tokens evaluated, {spent[name][1]:6.1f} s CPU")
    (all_tokens, all_cpu), (few_tokens, few_cpu) = spent.values()
    print(
        f"with reuse: {few_tokens / all_tokens:.2f} of the tokens, {few_cpu / all_cpu:.2f} "
        "of the CPU"
    )


def compare_adapter(prompts: Sequence[Prompt]) -> None:
    """The same prompts read whole, by turns without and with the adapter, so that other work on the
    machine hits both.
    """
    weights = find("smollm2-135m")
    raw, trained = Llama(weights), Llama(weights, adapter_for("smollm2-135m"))
    for llama in (raw, trained):
        _cpu(llama, prompts[0])
    pairs = [(_cpu(raw, prompt), _cpu(trained, prompt)) for prompt in prompts]
    without, with_it = (sum(one) for one in zip(*pairs, strict=True))
    middle = median(after / before for before, after in pairs)
    print(
        f"adapter: {with_it:.1f} s CPU where the raw model takes {without:.1f}: "
        f"{with_it / without:.2f} (median {middle:.2f})"
    )


def _cpu(llama: Llama, prompt: Prompt) -> float:
    llama._prefix = []
    start = time.process_time()
    llama.score(prompt, ("Yes", "No"))
    return time.process_time() - start


if __name__ == "__main__":
    main()
