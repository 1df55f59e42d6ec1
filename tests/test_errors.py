"""Whoever gives a wrong value may catch it as Python's own ValueError."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from adjudge import AspectCritic, Criteria, RagEvaluator, ScriptedModel, open_model
from adjudge.core.data.dataset import read_instances
from adjudge.errors import AdjudgeError, ModelError, RunError, RunStopped, SandboxError, SetupError


def rows_of(text: str, folder: Path) -> object:
    path = folder / "rows.csv"
    path.write_text(text, encoding="utf-8")
    return list(read_instances(path, columns={"response": "answer"}))


WRONG_VALUES: list[tuple[type[AdjudgeError], Callable[[Path], object]]] = [
    (SetupError, lambda _: AspectCritic("", ScriptedModel())),
    (SetupError, lambda _: AspectCritic("Is it polite?", ScriptedModel(), strictness=0)),
    (SetupError, lambda _: Criteria("tone", "", [])),
    (SetupError, lambda _: open_model("nobody-has-this-model")),
    (SetupError, lambda _: RagEvaluator(ScriptedModel(), dimensions=["tone"])),
    (RunError, lambda folder: rows_of("question\nWhen?\n", folder)),
    (RunError, lambda folder: rows_of("answer\n\n", folder)),
    (RunError, lambda folder: list(read_instances(folder / "absent.csv"))),
]


@pytest.mark.parametrize(("kind", "give"), WRONG_VALUES)
def test_a_wrong_value_is_a_value_error(
    kind: type[AdjudgeError], give: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        give(tmp_path)
    assert isinstance(caught.value, kind)


@pytest.mark.parametrize("kind", [ModelError, SandboxError, RunError, RunStopped])
def test_what_no_other_value_would_mend_is_none(kind: type[AdjudgeError]) -> None:
    assert not issubclass(kind, ValueError)
