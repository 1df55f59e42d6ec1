"""What reading the shared beginning once saves: twenty texts on one criterion, in prompt tokens and in CPU seconds.

python benchmarks/prefix.py
"""

from __future__ import annotations

import time

from adjudge import AspectCritic, Instance
from adjudge.gateway.llama import Llama
from adjudge.gateway.weights.store import find
from adjudge.prompts.render import render_likelihood

TEXTS = [f"The tower number {place} is in Paris, and it was painted last year." for place in range(20)]


def main() -> None:
    critic = AspectCritic.harmlessness()
    ballots = [critic.plan(Instance({"response": text}), [])[0] for text in TEXTS]
    prompts = [render_likelihood(ballot, "yes_no", []) for ballot in ballots]
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
    print(f"with reuse: {few_tokens / all_tokens:.2f} of the tokens, {few_cpu / all_cpu:.2f} of the CPU")


if __name__ == "__main__":
    main()
