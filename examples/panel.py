"""Several models, several votes each, one verdict; whoever cannot be counted is named.

python examples/panel.py openai/gpt-4o-mini mistral/mistral-small-latest     (without a model: the
                                                                             embedded one)
"""

import sys

from adjudge import AspectCritic

critic = AspectCritic.conciseness(models=sys.argv[1:] or None, votes=3, early_stop=True)
result = critic.evaluate("Paris.", user_input="What is the capital of France?")
print(
    result.verdict,
    result.score,
    result.model_scores,
    dict(result.excluded_models),
    f"{result.votes_requested} votes",
)
