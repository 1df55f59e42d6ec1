"""The link that asks the run whether it may spend more."""

from __future__ import annotations

from dataclasses import replace

from adjudge.domain.message import Reply, Request
from adjudge.gateway.layers.account import LONGEST_ANSWER, measured
from adjudge.gateway.layers.budget import Budget, current
from adjudge.gateway.model import Layer, Replying


class Allowed(Layer):
    """Passes on what the run that asks still may spend."""

    def complete(self, request: Request) -> Replying:
        """Ask, or raise BudgetSpent, RunStopped or ModelUnusable without asking."""
        open_budget = current.get()
        if open_budget is None:
            return self._measured(request)
        return open_budget.send(self.name, request, lambda: self.inner.complete(self._bounded(request, open_budget.budget)))

    async def _measured(self, request: Request) -> Reply:
        return measured(request, await self.inner.complete(request))

    def _bounded(self, request: Request, budget: Budget) -> Request:
        """With a limit on its answer, where money or tokens are limited. A model in this process ends by itself."""
        return request if self.provider.capabilities.exact_logprobs else bounded(request, budget)


def bounded(request: Request, budget: Budget) -> Request:
    """With a limit on its answer, where money or tokens are limited."""
    return replace(request, max_tokens=LONGEST_ANSWER) if request.max_tokens is None and budget.by_size else request
