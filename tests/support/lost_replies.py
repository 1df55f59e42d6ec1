"""A provider's bill if the first reply about each record is paid for and lost."""

from __future__ import annotations

from adjudge.core.domain.message import Usage
from adjudge.core.gateway.layers.account import LONGEST_ANSWER
from adjudge.core.gateway.prices import PriceTable
from support.wire import PROMPT_TOKENS, Exchange, chat_completion

MODEL = "openai/gpt-4o-mini"


def price_of(answer_tokens: int) -> float:
    usd = PriceTable.load().cost(MODEL, Usage(1, PROMPT_TOKENS, answer_tokens))
    assert usd is not None
    return usd


LONGEST = price_of(LONGEST_ANSWER)


class LostReplies:
    """Every reply costs as much as the longest; the first about each record is cut off."""

    usd = 0.0

    async def send(self, exchange: Exchange) -> None:
        self.usd += LONGEST
        if exchange.attempt == 0:
            exchange.cut()
        else:
            await exchange.send(exchange.reply)

    def body(self, number: int, text: str) -> dict[str, object]:
        usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": LONGEST_ANSWER}
        return {**chat_completion(number, text), "usage": usage}
