"""Decision models are never sent in batches: no provider's batches take typed questions."""

from __future__ import annotations

import pytest

from adjudge import open_model
from adjudge.errors import SetupError
from adjudge.features.batches.backend import batchable
from adjudge.features.batches.settings import BatchSettings

DECIDING = "systemone:http://127.0.0.1:9#fake-1"


@pytest.mark.parametrize("api", [None, "openai"])
def test_a_decision_model_is_refused(api: str | None) -> None:
    with pytest.raises(SetupError, match="which batches do not support"):
        batchable([open_model(DECIDING)], BatchSettings(api=api))


def test_next_to_another_model_it_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    models = [open_model(DECIDING), open_model("openai/gpt-4o-mini")]
    apis = batchable(models, BatchSettings(api="openai"))
    assert [model.name for model, _ in apis.values()] == ["openai/gpt-4o-mini"]
    with pytest.raises(SetupError, match="which batches do not support"):
        batchable(models, BatchSettings(api="openai", batch_only=True))
