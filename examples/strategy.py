"""Three programs for one task: those that use recursion are sent back with the reason, and the
shortest of the rest is run.

python examples/strategy.py openai/gpt-4o-mini [SANDBOX]     (needs a sandbox: pip install
                                                             'adjudge[sandbox]')

Without a model, a script that writes one harmless program is in its place, and needs no sandbox.
"""

import sys

from adjudge import Agent, Runtime, Strategy

STAND_IN = (
    "scripted/```python\na = b = 1\nfor _ in range(8):\n    a = a + b\n    b = a - b\noutput = "
    "a\n```"
)


def without_recursion(code, agent):
    """A verifier says True, or False with the reason that the model is told."""
    return code.count("fibonacci(") < 3, "it calls itself: use a loop"


strategy = Strategy(verify=without_recursion, cost=lambda code, agent: len(code), num_candidates=3)
model, sandbox = [*sys.argv[1:3], None][:2] if len(sys.argv) > 1 else (STAND_IN, "none")
agent = Agent(output_schema=int, llm=model, strategy=strategy)
runtime = Runtime(timeout=10, sandbox=sandbox)

print(runtime.jit(agent, "Calculate the 10th Fibonacci number, where the first two are both 1."))
for candidate in runtime.last.candidates:
    print(candidate.number, candidate.state, candidate.why)
