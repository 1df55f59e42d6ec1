"""A reward of a judge and a rule, watched by a second judge; a failed vote is never 0.

python examples/reward.py openai/gpt-4o-mini     (without a model: the embedded one)
"""

import sys

from adjudge import AspectCritic
from adjudge.rewards import Part, Reward, Watch

model = sys.argv[1] if len(sys.argv) > 1 else None


def short(prompts, completions, **columns):
    """A rule, with the signature of TRL's reward functions."""
    return [float(len(completion.split()) <= 20) for completion in completions]


reward = Reward(
    Part(AspectCritic("Answers the question.", model, name="answers"), weight=3),
    Part(short, limits=(0, 1)),
    watch=Watch(AspectCritic("Is the answer right?", model, name="right"), share=1.0),
)
prompts = ["What is the capital of France?"] * 3
completions = ["Paris.", "It is a large city.", "I like trains."]

for completion, value in zip(completions, reward.score(prompts, completions), strict=True):
    print(completion, value.value, value.reason or "")
print(reward.watch.report())
