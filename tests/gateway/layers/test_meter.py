from __future__ import annotations

from typing import Any

import pytest

from adjudge.errors import ModelError
from support.asking import ask, ask_all, open_at
from support.fake_provider import FakeProvider, Status, always, at_first


def test_what_was_used_is_added_up(provider: FakeProvider) -> None:
    model = open_at(provider)
    replies: list[Any] = list(ask_all(model, ["REC-00001-Y"] * 5))
    assert model.meter.usage == sum((reply.usage for reply in replies[1:]), replies[0].usage)
    assert model.meter.usage.calls == 5
    assert model.meter.seconds == pytest.approx(sum(reply.latency for reply in replies))
    assert model.meter.failures == 0


def test_a_failure_is_counted_once_however_often_it_was_tried(provider: FakeProvider, fast_retries: None) -> None:
    provider.faults = always(Status(500))
    model = open_at(provider, max_retries=2)
    with pytest.raises(ModelError):
        ask(model)
    assert (model.meter.failures, model.meter.usage.calls) == (1, 0)


def test_a_retry_that_helped_is_no_failure(provider: FakeProvider, fast_retries: None) -> None:
    provider.faults = at_first(Status(500))
    model = open_at(provider, max_retries=1)
    ask(model)
    assert (model.meter.failures, model.meter.usage.calls) == (0, 1)
