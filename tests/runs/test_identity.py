"""One hash that says who judged: it changes with whatever decides a verdict,
and with nothing else.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from adjudge import (
    AspectCritic,
    Criteria,
    CriteriaOption,
    DirectJudge,
    PairwiseJudge,
    ScriptedModel,
)
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.engine import identity
from adjudge.core.gateway.opener import open_model
from adjudge.features.rag import RagEvaluator
from adjudge.runs.folder import run_info
from support.commands import adjudge

KIND = Criteria(
    "kind", "Is it kind?", [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)]
)
SHORT = Criteria(
    "short", "Is it short?", [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)]
)


def judge_identity(configuration: JsonDict, criteria: str | None = None) -> str:
    return identity.judge_identity(JudgeConfiguration.of(configuration), criteria)


def direct(**settings: object) -> JsonDict:
    judge = DirectJudge(settings.pop("model", ScriptedModel()), **settings)  # type: ignore[arg-type]
    return judge.configuration([KIND])


def changed(configuration: JsonDict, *path: str, to: object) -> JsonDict:
    new = json.loads(json.dumps(configuration))
    place = new
    for key in path[:-1]:
        place = place[int(key)] if isinstance(place, list) else place[key]
    place[path[-1]] = to
    return dict(new)


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("judge",), "PairwiseJudge"),
        (("settings", "self_consistency"), 5),
        (("settings", "temperature"), 0.7),
        (("settings", "language"), "ru"),
        (("settings", "max_repairs"), 0),
        (("settings", "mode"), "likelihood"),
        (("models", "scripted", "identity"), "openai/gpt-4o-mini@api.openai.com"),
        (("models", "scripted", "temperature"), 0.2),
        (("models", "scripted", "seed"), 3),
        (("models", "another"), {"identity": "another", "temperature": None, "seed": None}),
        (("criteria", "0", "description"), "Is it friendly?"),
        (("criteria", "0", "options"), [{"name": "Yes", "description": "", "score": 1.0}]),
        (("templates", "direct.jinja"), "0" * 64),
        (("templates", "repair.jinja"), "0" * 64),
        (("versions", "reader"), "0"),
        (("versions", "pooling"), "0"),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_each_thing_that_decides_a_verdict_changes_it(path: tuple[str, ...], to: object) -> None:
    before = direct()
    assert judge_identity(changed(before, *path, to=to)) != judge_identity(before)


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("versions", "adjudge"), "99.0"),
        (("versions", "python"), "4.0"),
        (("settings", "early_stop"), True),
        (("settings", "name"), "another name"),
        (("settings", "config"), "/home/somebody/dimensions.yaml"),
        (("templates", "improve.jinja"), "0" * 64),
        (("templates", "generate.jinja"), "0" * 64),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_nothing_else_changes_it(path: tuple[str, ...], to: object) -> None:
    before = direct()
    assert judge_identity(changed(before, *path, to=to)) == judge_identity(before)


def test_it_does_not_know_how_many_requests_go_at_once_nor_the_key() -> None:
    url = "http://127.0.0.1:9/v1#m"
    one = open_model(url, api_key="sk-one", max_concurrency=1, timeout=5, max_retries=0)
    two = open_model(url, api_key="sk-two", max_concurrency=99, timeout=50, max_retries=9)
    assert judge_identity(direct(model=one)) == judge_identity(direct(model=two))
    assert judge_identity(direct(model=one)) != judge_identity(
        direct(model=open_model("http://127.0.0.1:9/v1#n"))
    )


def test_the_order_of_a_panel_makes_no_difference() -> None:
    panel = [ScriptedModel(name="a"), ScriptedModel(name="b")]
    one, two = (AspectCritic("It is kind.", models) for models in (panel, panel[::-1]))
    assert judge_identity(one.configuration()) == judge_identity(two.configuration())


def test_a_question_beside_it_does_not_change_who_judges_one_criteria() -> None:
    judge = DirectJudge(ScriptedModel())
    alone, both = judge.configuration([KIND]), judge.configuration([SHORT, KIND])
    assert judge_identity(both, "kind") == judge_identity(alone, "kind") == judge_identity(alone)
    assert judge_identity(both) != judge_identity(alone)
    assert judge_identity(both, "kind") != judge_identity(both, "short")


def test_a_dimension_is_judged_alike_whatever_its_weight() -> None:
    one, two = (
        RagEvaluator(ScriptedModel(), weights=weights).configuration()
        for weights in ({}, {"clarity": 2.0})
    )
    assert judge_identity(one, "clarity") == judge_identity(two, "clarity")
    assert judge_identity(one) != judge_identity(two)  # the composite


def test_equal_settings_have_one_identity_wherever_the_run_lies(tmp_path: Path) -> None:
    for name in ("one", "two"):
        AspectCritic("It is kind.", ScriptedModel()).evaluate(["a"], run=tmp_path / name)
    one, two = (run_info(tmp_path / name).identities for name in ("one", "two"))
    assert one == two
    assert list(one) == ["AspectCritic"]
    PairwiseJudge(ScriptedModel()).evaluate(
        [["a", "b"]], "Which is better?", run=tmp_path / "three"
    )
    assert run_info(tmp_path / "three").identities != one


def test_a_run_from_before_there_were_versions_of_the_reader_has_that_of_the_first() -> None:
    first = direct()
    first["versions"] = {"adjudge": "0.1", "python": "3.11", "reader": "1", "pooling": "1"}
    before = copy.deepcopy(first)
    before["versions"] = {"adjudge": "0.1", "python": "3.11"}
    assert judge_identity(before) == judge_identity(first) != judge_identity(direct())


@pytest.mark.parametrize(
    "strange",
    [{}, {"settings": 3, "models": [], "criteria": "x", "templates": None, "versions": 1}],
)
def test_a_configuration_that_adjudge_did_not_write_has_one_too(strange: JsonDict) -> None:
    assert len(judge_identity(strange)) == 16


def test_the_identity_of_each_judge_is_shown(tmp_path: Path) -> None:
    AspectCritic("It is kind.", ScriptedModel()).evaluate(["a"], run=tmp_path)
    identities = run_info(tmp_path).identities
    assert (
        f"AspectCritic: judge identity {identities['AspectCritic']}"
        in adjudge("runs", "show", tmp_path).stdout
    )
    assert (
        json.loads(adjudge("runs", "show", tmp_path, "--json").stdout)["run"]["judge_identities"]
        == identities
    )
