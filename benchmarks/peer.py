"""CPU per judgment of another framework, in an environment of its own: for benchmarks/ratios.py.

PYTHON benchmarks/peer.py NAME URL RECORDS ROUNDS      prints a figure a round, in milliseconds
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable

IN_FLIGHT = 100
ASKED = (
    "Criterion: The response answers the question directly and stays on the topic of the question."
    "\n\nQuestion: {question}\n\nResponse: {response}\n\nDoes the response meet the criterion?"
)
QUESTION = "Can you explain the main idea of plate tectonics in two sentences, for a student?"
ANSWER = (
    "The main idea is that a small number of simple rules explain a wide range of observations."
)
Judge = Callable[[list[str]], list[bool]]


def autoevals(url: str) -> Judge:
    """LLMClassifier, as many at once as ours: it has no runner."""
    from autoevals.llm import LLMClassifier
    from openai import AsyncOpenAI

    asked = ASKED.format(question="{{input}}", response="{{output}}")
    client = AsyncOpenAI(api_key="x", base_url=url)
    judge = LLMClassifier("topic", asked, {"yes": 1, "no": 0}, model="gpt-4o", client=client)

    async def judge_all(responses: list[str]) -> list[bool]:
        free = asyncio.Semaphore(IN_FLIGHT)

        async def one(response: str) -> bool:
            async with free:
                return (await judge.eval_async(output=response, input=QUESTION)).score == 1

        return await asyncio.gather(*map(one, responses))

    return lambda responses: asyncio.run(judge_all(responses))


def phoenix(url: str) -> Judge:
    """create_classifier over a data frame, without its own rate limit."""
    import json

    import pandas
    from phoenix.evals import LLM, async_evaluate_dataframe, create_classifier

    model = LLM(
        provider="openai",
        model="gpt-4o",
        base_url=url,
        api_key="x",
        initial_per_second_request_rate=100_000,
    )
    judge = create_classifier(
        name="topic", prompt_template=ASKED, llm=model, choices={"yes": 1, "no": 0}
    )

    def judge_all(responses: list[str]) -> list[bool]:
        rows = pandas.DataFrame({"question": QUESTION, "response": responses})
        work = async_evaluate_dataframe(
            dataframe=rows, evaluators=[judge], concurrency=IN_FLIGHT, hide_tqdm_bar=True
        )
        scores = asyncio.run(work)["topic_score"]
        read = (json.loads(one) if isinstance(one, str) else one for one in scores)
        return [one["label"] == "yes" for one in read]

    return judge_all


if __name__ == "__main__":
    name, url, records, rounds = sys.argv[1:]
    os.environ["OPENAI_API_KEY"] = "x"
    marks = ["Y" if n * 7919 % 10 < 6 else "N" for n in range(int(records))]
    responses = [f"[REC-{n:05d}-{mark}] {ANSWER}" for n, mark in enumerate(marks)]
    make = {"autoevals": autoevals, "phoenix": phoenix}[name]
    for number in range(int(rounds) + 1):  # the first one warms up
        judge, before = make(url), time.process_time()
        assert judge(responses) == [mark == "Y" for mark in marks]
        if number:
            print((time.process_time() - before) * 1000 / len(responses), flush=True)
