"""Which of three answers is best, asked in both orders.

python examples/pairwise.py openai/gpt-4o-mini     (without a model: the embedded one)
"""

import sys

from adjudge.judges import PairwiseJudge

judge = PairwiseJudge(sys.argv[1] if len(sys.argv) > 1 else None, check_positional_bias=True)
(result,) = judge(
    [["Paris.", "The capital of France is Paris.", "I do not know."]],
    "Which answer is more helpful?",
)

print("best:", result.selected_option, "ranks:", result.ranking, "certainty:", result.certainty)
for system in result.per_system_results:
    print(system.winrate, system.compared_to, system.contest_results)
