"""One text, one question: option, score, explanation, feedback.

python examples/direct.py openai/gpt-4o-mini     (without a model: the embedded one)
"""

import sys

from adjudge.judges import DirectJudge

judge = DirectJudge(sys.argv[1] if len(sys.argv) > 1 else None, generate_feedback=True)

results = judge(
    instances=[
        (
            "Use the API client to fetch data from the server and the cache to store frequently "
            "accessed results."
        )
    ],
    criteria="Is the text self-explanatory and self-contained?",
)

print("### Selected option / Score")
print(f"{results[0].option} / {results[0].score}")
print("\n### Explanation")
print(results[0].explanation)
print("\n### Feedback")
print(results[0].feedback)
