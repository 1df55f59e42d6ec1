"""Settings of eval files as options: what an entry declares is what a command offers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from adjudge.core.reading.types import Numbers, Word, keys_of
from adjudge.features.agents.judge import AgentEvaluator
from adjudge.features.agents.kind import AgentEntry, ArgumentsEntry
from adjudge.features.rag.judge import RagEvaluator
from adjudge.features.rag.kind import RagEntry
from adjudge.plugins import Parts
from adjudge.runs.builder import kind_settings
from adjudge.runs.cli.options import Flags, command
from adjudge.runs.cli.settings import settings, typed_for_judges, typed_settings
from adjudge.runs.eval_file import (
    AspectEntry,
    DirectEntry,
    EvalFile,
    Gates,
    JudgeEntry,
    PairwiseEntry,
    parse_eval,
)

COMMANDS: Parts[click.Command] = Parts("commands")
OFFERED: list[tuple[str, type, str]] = [
    *(("agent", AgentEntry, name) for name in ("policy", "order", "steps_tokens", "blame")),
    *(("agent", ArgumentsEntry, name) for name in ("types", "text")),
    *(("rag", RagEntry, name) for name in ("votes", "checks", "config", "evidence")),
    *(("check", AspectEntry, name) for name in ("votes", "early_stop")),
    *(("judge", DirectEntry, name) for name in ("votes", "feedback")),
    *(("compare", PairwiseEntry, name) for name in ("contests", "order", "tie_enabled")),
    *(("attack", JudgeEntry, name) for name in ("votes", "mode")),
]


@pytest.mark.parametrize(("name", "entry", "setting"), OFFERED)
def test_an_option_says_what_the_entry_declares(name: str, entry: type, setting: str) -> None:
    (option,) = (one for one in COMMANDS[name].params if one.name == setting)
    declared = keys_of(entry)[setting]
    assert isinstance(option, click.Option)
    assert (option.help or "").startswith(declared.metadata["help"])
    if declared.default is not None:
        assert option.get_default(click.Context(COMMANDS[name])) == declared.default
    if isinstance(declared.metadata["type"], Word):
        assert isinstance(option.type, click.Choice)
        assert tuple(option.type.choices) == tuple(declared.metadata["type"].allowed)


def typed(entry: type, names: tuple[str, ...], *words: str) -> dict[str, Any]:
    """Return the settings that a command is given whose options these are."""
    taken: dict[str, Any] = {}

    def run(settings: dict[str, Any]) -> int:
        taken.update(settings)
        return 0

    command("try")(settings(entry, *names)(run)).main(list(words), standalone_mode=False)
    return taken


def test_what_is_typed_is_what_an_entry_is_made_with(tmp_path: Path) -> None:
    names = ("measures", "policy", "required", "arguments.types", "compare", "derive", "votes")
    words = (
        *("--measure", "errors, goal", "--measure", "calls_f1", "--policy", str(tmp_path / "p.md")),
        *("--required", "pay", "--types", "loose", "--compare", "--votes", "3"),
    )
    entry = AgentEntry(kind="agent", **typed(AgentEntry, names, *words))
    assert entry == AgentEntry(
        kind="agent",
        measures=("errors", "goal", "calls_f1"),
        policy=str(tmp_path / "p.md"),
        required=("pay",),
        arguments=ArgumentsEntry(types="loose"),
        compare="systems",
        votes=3,
    )
    assert AgentEntry(kind="agent", **typed(AgentEntry, names)) == AgentEntry(kind="agent")


def test_an_option_without_a_value_has_the_one_that_the_entry_names() -> None:
    assert typed(RagEntry, ("evidence",), "--evidence") == {"evidence": "each"}
    assert typed(RagEntry, ("evidence",), "--evidence", "joint") == {"evidence": "joint"}
    assert typed(RagEntry, ("evidence",)) == {"evidence": None}


def test_a_setting_that_no_option_can_take_is_refused() -> None:
    with pytest.raises(TypeError, match="Numbers has no option"):
        settings(RagEntry, "weights")
    assert isinstance(keys_of(RagEntry)["weights"].metadata["type"], Numbers)


def test_a_typed_gate_is_that_of_the_run_and_not_of_each_judge() -> None:
    values: dict[str, Any] = dict.fromkeys(Flags.__dataclass_fields__)
    values |= {"fail_under": 0.8, "seed": 0, "sequential": False, "margin": 0.0}
    flags = Flags(**values)
    assert typed_settings(flags, Gates) == {"fail_under": 0.8, "margin": 0.0}
    assert typed_for_judges(flags) == {"seed": 0}


@pytest.mark.parametrize(
    ("text", "made", "but"),
    [
        ("{kind: agent, measures: goal, policy: p.md}", AgentEvaluator, ("arguments", "compare")),
        ("{kind: rag, config: dimensions.yaml}", RagEvaluator, ()),
    ],
)
def test_a_judge_takes_every_setting_of_its_kind_by_the_same_name(
    text: str, made: type, but: tuple[str, ...], tmp_path: Path
) -> None:
    file: EvalFile = parse_eval(f"data: x.csv\njudges: [{text}]", tmp_path / "eval.yaml")
    found = kind_settings(file, file.judges[0], but)
    assert found.keys() <= made.__dataclass_fields__.keys()  # type: ignore[attr-defined]
    (path,) = (value for value in found.values() if isinstance(value, Path))
    assert path.parent == tmp_path


@pytest.mark.parametrize(
    ("entry", "made"), [(AgentEntry, AgentEvaluator), (RagEntry, RagEvaluator)]
)
def test_the_class_for_python_has_the_defaults_of_the_eval_file(entry: type, made: type) -> None:
    """Both declare them: the signature of the class is what people and type checkers see."""
    declared = {name: field.default for name, field in keys_of(entry).items()}
    own = {name: field.default for name, field in made.__dataclass_fields__.items()}  # type: ignore[attr-defined]
    shared = [name for name in declared if name not in keys_of(JudgeEntry) and name in own]
    named = ("measures", "dimensions")  # nothing stands for all of them, or for the usual ones
    plain = [name for name in shared if name not in named and declared[name] not in ((), None)]
    assert len(plain) > 2
    assert {name: own[name] for name in plain} == {name: declared[name] for name in plain}
