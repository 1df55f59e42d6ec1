"""Adapters that come with the package, and how what they say is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.domain.message import LogprobCalibration
from adjudge.errors import SetupError
from adjudge.features.local import provider as local
from adjudge.features.local.weights import adapters as shipped


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(shipped, "_FOLDER", tmp_path)
    monkeypatch.setattr(local, "find", lambda name: tmp_path / f"{name}.base.gguf")
    (tmp_path / "smollm2-135m.base.gguf").write_bytes(b"GGUF")
    return tmp_path


def ship(folder: Path, name: str = "smollm2-135m", temperature: float = 1.5) -> None:
    (folder / f"{name}.gguf").write_bytes(b"GGUF")
    values = {"yes_no": {"temperature": temperature, "prior_weight": 0.25, "threshold": 0.7}}
    (folder / f"{name}.json").write_text(json.dumps(values))


def test_without_an_adapter_the_model_is_raw(folder: Path) -> None:
    model = local.LocalModel("local/smollm2-135m")
    assert (model._adapter, dict(model.capabilities.calibration)) == (None, {})


def test_a_name_brings_its_adapter_and_the_calibration(folder: Path) -> None:
    ship(folder)
    model = local.LocalModel("local/smollm2-135m")
    assert model._adapter == folder / "smollm2-135m.gguf"
    assert dict(model.capabilities.calibration) == {"yes_no": LogprobCalibration(1.5, 0.25, 0.7)}


def test_raw_is_the_same_weights_without_it(folder: Path) -> None:
    ship(folder)
    model = local.LocalModel("local/smollm2-135m-raw")
    assert (model.name, model._path.name) == ("local/smollm2-135m-raw", "smollm2-135m.base.gguf")
    assert (model._adapter, dict(model.capabilities.calibration)) == (None, {})
    assert model.note


def test_the_adapter_for_texts_first_is_another_one_on_the_same_weights(folder: Path) -> None:
    ship(folder)
    ship(folder, "smollm2-135m-text-first", temperature=2.0)
    model = local.LocalModel("local/smollm2-135m-text-first")
    assert model.name == "local/smollm2-135m-text-first"
    assert (model._path, model._adapter) == (
        folder / "smollm2-135m.base.gguf",
        folder / "smollm2-135m-text-first.gguf",
    )
    assert dict(model.capabilities.calibration) == {"yes_no": LogprobCalibration(2.0, 0.25, 0.7)}
    assert model.capabilities.text_first
    assert not local.LocalModel("local/smollm2-135m").capabilities.text_first


@pytest.mark.parametrize("ending", ["-raw-text-first", "-text-first-raw", "-text-first-text-first"])
def test_a_name_has_one_ending(folder: Path, ending: str) -> None:
    with pytest.raises(SetupError, match="unknown local model"):
        local.LocalModel(f"local/smollm2-135m{ending}")


def test_an_adapter_of_ones_own_takes_its_place(folder: Path) -> None:
    ship(folder)
    (folder / "mine.gguf").write_bytes(b"GGUF")
    model = local.LocalModel(f"local/smollm2-135m+{folder / 'mine.gguf'}")
    assert (model._adapter, dict(model.capabilities.calibration)) == (folder / "mine.gguf", {})
