"""CPU of ``adjudge serve`` for ten questions about one text: with the criterion first, and with the
text first.

    python benchmarks/decision_served.py [--rounds 3]

Every text is new, so that nothing is left of an earlier one. All threads of this process count.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence

from adjudge.core.domain.decision import PREDICATE_OPTIONS, DecisionQuestion, DecisionRequest
from adjudge.core.gateway.prices import PriceTable
from adjudge.runs.project import ModelEntry
from adjudge.runs.service.deciding import DecisionService
from adjudge.runs.service.judging import JudgingService
from adjudge.web.serve_command import text_first_models

QUESTIONS = tuple(
    DecisionQuestion(f"q{number}", "predicate", f"The text {claim}.", PREDICATE_OPTIONS)
    for number, claim in enumerate(
        (
            "is polite",
            "names a price",
            "mentions a shop",
            "asks a question",
            "is about the weather",
            "contains an apology",
            "promises a refund",
            "names a day",
            "is written in anger",
            "thanks somebody",
        )
    )
)
_SENTENCE = "The shop at the corner opens at nine and sells bread, milk and paper. "


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for text_first in (False, True):
        service = service_of(text_first=text_first)
        cpu(service, -1, QUESTIONS[:1])  # loads the weights
        seconds: dict[str, list[float]] = {"one": [], "together": [], "apart": []}
        for number in range(options.rounds):
            text = number * 3
            seconds["one"].append(cpu(service, text, QUESTIONS[:1]))
            seconds["together"].append(cpu(service, text + 1, QUESTIONS))
            seconds["apart"].append(
                sum(
                    cpu(service, 100 * text + at, (question,))
                    for at, question in enumerate(QUESTIONS)
                )
            )
        one, together, apart = (statistics.median(values) for values in seconds.values())
        print(
            f"{'text first' if text_first else 'criterion first':16} ten in one request: "
            f"{together:.2f} CPU s, {together / one:.1f} x of one question, "
            f"{together / apart:.2f} x of ten requests"
        )


def service_of(*, text_first: bool) -> DecisionService:
    prices = PriceTable.load()
    service = JudgingService((ModelEntry(model="local/smollm2-135m"),), prices=prices, cache=False)
    models = text_first_models(service, prices, cache=False) if text_first else service.models
    return DecisionService(models, service.open_budget, "en", text_first)


def cpu(service: DecisionService, number: int, questions: Sequence[DecisionQuestion]) -> float:
    """Return the CPU seconds that a request takes about a text of some 230 words."""
    state = {"text": f"Note {number} of the week. " + _SENTENCE * 16}
    started = time.process_time()
    decided = service.decide(DecisionRequest(state, tuple(questions)))
    seconds = time.process_time() - started
    if any(answer.probabilities is None for answer in decided.reply.answers):
        raise SystemExit("a question has no answer")
    return seconds


if __name__ == "__main__":
    main()
