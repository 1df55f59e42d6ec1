"""One text, two questions of equal weight, one score.

python examples/multi_criteria.py openai/gpt-4o-mini     (without a model: the embedded one)
"""

import sys

from adjudge.judges import DirectJudge

judge = DirectJudge(sys.argv[1] if len(sys.argv) > 1 else None)
results = judge.evaluate_multi_criteria(
    instances=["Use the API client to fetch data from the server."],
    multi_criteria=["Is the text self-explanatory and self-contained?", "Is the text consistent?"],
)

print(f"Aggregated score: {results[0].aggregated_score:.2f}")
for item_result, item in zip(results[0].item_results, results[0].multi_criteria.items, strict=True):
    print(
        f"{item.criterion.name} -> {item_result.result.score} (weighted: "
        f"{item_result.weighted_score})"
    )
