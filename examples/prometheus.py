"""A grade from 1 to 5 in the format that Prometheus models were trained on.

python examples/prometheus.py http://localhost:8000/v1#m-prometheus-7b     (without a model: a
                                                                           script in its place)
"""

import sys

from adjudge.judges import Criteria, CriteriaOption, Instance, MPrometheusDirectJudge

rubric = ["wrong", "mostly wrong", "half right", "mostly right", "right"]
criteria = Criteria(
    "correctness",
    "Is the answer right?",
    [CriteriaOption(str(i), text) for i, text in enumerate(rubric, 1)],
)
answer = Instance(fields={"instruction": "What is 2 + 2?", "response": "4", "reference": "4"})

model = sys.argv[1] if len(sys.argv) > 1 else "scripted/Feedback: 2 + 2 is 4. [RESULT] 5"
(result,) = MPrometheusDirectJudge(model)([answer], criteria)
print(result.option, result.score, result.explanation)
