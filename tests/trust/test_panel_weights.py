"""Panels against people's labels, and weights that judges take."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from adjudge import AspectCritic, Instance, ScriptedModel, SetupError
from adjudge.core.domain.label import Label
from adjudge.core.engine.identity import judge_identity
from adjudge.runs.eval_file import parse_eval
from adjudge.runs.folder import run_info
from adjudge.runs.plan import resolve
from adjudge.stats.panels import RightAnswers, against_best_member
from adjudge.trust import calibrate, calibrate_run
from adjudge.trust.agreement import AgreementSettings
from adjudge.trust.calibration import CalibrationSettings
from adjudge.trust.calibration_words import panel_lines
from adjudge.trust.panel_check import PanelReport
from support.labels import model


def marked(name: str) -> ScriptedModel:
    """A member that says what the text holds behind its name; nothing readable if that is "?"."""

    def verdict(prompt: str) -> str:
        said = prompt.rsplit(f"{name}=", maxsplit=1)[-1]
        return "" if said.startswith("?") else "PASS" if said.startswith("yes") else "FAIL"

    return model(verdict, name)


def share(right: RightAnswers | None) -> float:
    assert right is not None and right.share is not None
    return right.share


def rows(
    count: int, right: dict[str, float], together: bool, seed: int = 1
) -> list[tuple[str, bool]]:
    """Texts that hold what each member will say; members that err together err on the same rows."""
    choice, found = random.Random(seed), []
    for number in range(count):
        good, luck = choice.random() < 0.5, choice.random()
        said = {
            name: good == ((luck if together and name != "good" else choice.random()) < share)
            for name, share in right.items()
        }
        marks = " ".join(f"{name}={'yes' if yes else 'no'}" for name, yes in said.items())
        found.append((f"row {number} {marks}", good))
    return found


PLAIN = CalibrationSettings()


def panel(
    found: list[tuple[str, bool]],
    names: list[str],
    run: Path | None = None,
    settings: CalibrationSettings = PLAIN,
) -> PanelReport:
    critic = AspectCritic("Is it good?", [marked(name) for name in names], name="dates")
    instances = [Instance({"response": text}) for text, _ in found]
    results = critic.evaluate(instances, run=run)
    labels = [
        Label(
            row=one.identity,
            criteria="dates",
            annotator="ann",
            option="PASS" if good else "FAIL",
            design="random",
        )
        for one, (_, good) in zip(instances, found, strict=True)
    ]
    report = (
        calibrate_run(run, labels)[0] if run else calibrate(results, labels, settings=settings)
    ).panel
    assert report is not None
    return report


def test_a_panel_worse_than_its_best_member_is_warned_of(tmp_path: Path) -> None:
    found = rows(120, {"good": 0.95, "poor": 0.6, "weak": 0.6}, together=True)
    report = panel(found, ["good", "poor", "weak"], tmp_path / "run")
    assert report.check.best == "good"
    assert any("the panel is worse than good alone" in one for one in report.warnings)
    assert report.usable["good"] == 1.0 > report.usable["poor"]
    assert share(report.weighted) >= share(report.members["good"]) - 0.005


def test_members_that_err_on_their_own_are_a_good_panel() -> None:
    report = panel(rows(150, {"a": 0.8, "b": 0.8, "c": 0.8}, together=False), ["a", "b", "c"])
    assert not report.warnings
    assert report.alike.effective is not None and report.alike.effective > 2
    assert share(report.panel) > max(map(share, report.members.values()))


def test_unreadable_votes_of_a_member_are_left_out_and_counted(tmp_path: Path) -> None:
    """a is right in 18 of the 20 votes that can be read, b in 26 of 30."""
    said = [("yes", "yes")] * 18 + [("no", "yes")] * 2 + [("?", "yes")] * 6 + [("?", "no")] * 4
    texts = [(f"row {place} a={a} b={b}", True) for place, (a, b) in enumerate(said)]
    report = panel(texts, ["a", "b"], tmp_path / "run")
    assert report.members == {"a": RightAnswers(0.9, 10), "b": RightAnswers(26 / 30, 0)}
    assert report.check.best == "a"
    left_out = report.to_dict()["left_out"]
    assert left_out == {"panel": 0, "members": {"a": 10, "b": 0}, "weighted": 0}
    shown = [str(line) for line in panel_lines(report)]
    assert shown[0].startswith("a: 90.0% right (10 rows without a readable vote left out); ")
    assert shown[1].startswith("b: 86.7% right; ")
    wrong = CalibrationSettings(agreement=AgreementSettings(missing="wrong"))
    strict = panel(texts, ["a", "b"], settings=wrong)
    assert strict.members["a"] == RightAnswers(0.6, 0) and strict.check.best == "b"


def test_the_panel_and_its_best_member_are_compared_on_the_rows_that_both_decide() -> None:
    truth = ["yes"] * 60
    votes: dict[str, list[str | None]] = {
        "a": [*["yes"] * 40, *[None] * 20],
        "b": [*["no"] * 30, *["yes"] * 30],
    }
    found = against_best_member(votes["b"], votes, truth, drop_missing=True)
    assert found.best == "a" and "25.0% against 100.0% of 40 labelled rows" in found.warning


def test_weights_that_are_worth_less_than_the_best_member_are_warned_of() -> None:
    """On the labels that they were learned from they look as good as it; on labels that they have
    not seen they are not.
    """
    found = rows(40, {"a": 0.75, "b": 0.7, "c": 0.7, "d": 0.7}, together=False, seed=4)
    report = panel(found, ["a", "b", "c", "d"])
    assert report.unseen is not None and report.check.best is not None
    said = [one for one in report.warnings if "labels that they have not seen" in one]
    best = share(report.members[report.check.best])
    assert bool(said) == (share(report.unseen) < best - 0.005)
    assert share(report.unseen) <= share(report.weighted)
    lone = panel(rows(60, {"a": 0.95, "b": 0.55, "c": 0.55}, together=False), ["a", "b", "c"])
    assert share(lone.unseen) >= share(lone.members["a"]) - 0.005 and len(lone.warnings) <= 1


def test_few_labels_say_nothing_of_weights_they_have_not_seen() -> None:
    assert panel(rows(19, {"a": 0.8, "b": 0.8}, together=False), ["a", "b"]).unseen is None


def test_dawid_and_skene_join_all_estimators_and_are_refused_where_the_members_err_together() -> (
    None
):
    settings = CalibrationSettings(all_estimators=True)
    apart = panel(
        rows(120, {"a": 0.9, "b": 0.8, "c": 0.8}, together=False),
        ["a", "b", "c"],
        settings=settings,
    )
    assert apart.consensus is not None and apart.consensus.accuracy is not None
    assert apart.consensus.accuracy >= share(apart.panel) - 0.05 and apart.consensus.rows == 120
    assert sum(apart.consensus.shares.values()) == pytest.approx(1)
    alike = panel(
        rows(120, {"a": 0.7, "b": 0.7, "c": 0.7}, together=True), ["a", "b", "c"], settings=settings
    )
    assert alike.consensus is not None and "make the same errors" in alike.consensus.reason
    assert (alike.consensus.accuracy, alike.consensus.shares) == (None, {})
    assert panel(rows(30, {"a": 0.9, "b": 0.8}, together=False), ["a", "b"]).consensus is None


def test_one_model_is_no_panel() -> None:
    found = rows(30, {"a": 0.8}, together=False)
    critic = AspectCritic("Is it good?", marked("a"), name="dates")
    results = critic.evaluate([Instance({"response": text}) for text, _ in found])
    labels = [
        Label(
            row=one.instance.identity,
            criteria="dates",
            annotator="x",
            option="PASS",
            design="random",
        )
        for one in results
    ]
    assert calibrate(results, labels).panel is None


def test_weights_make_the_score_a_weighted_share() -> None:
    said = {"a": "PASS", "b": "FAIL", "c": "FAIL"}
    members = [
        model({"PASS": lambda _: "PASS", "FAIL": lambda _: "FAIL"}[option], name)
        for name, option in said.items()
    ]
    result = AspectCritic("c", members, weights={"a": 3.0, "b": 1, "c": 1}).evaluate("x")
    assert (result.score, result.verdict) == (0.6, "PASS")
    assert AspectCritic("c", members).evaluate("x").verdict == "FAIL"


def test_a_model_without_a_vote_takes_its_weight_with_it() -> None:
    members = [model(lambda _: "PASS", "a"), model(lambda _: "", "b")]
    result = AspectCritic("c", members, weights={"a": 1, "b": 9}, max_repairs=0).evaluate("x")
    assert (result.score, list(result.excluded_models)) == (1.0, ["b"])
    nobody = AspectCritic("c", members, weights={"a": 0, "b": 9}, max_repairs=0).evaluate("x")
    assert (nobody.score, nobody.verdict, nobody.status.value) == (None, None, "failed")


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ({"a": 1.0}, "'b' has no weight"),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, "the panel has no model named 'c'; it has a, b"),
        ({"a": -1.0, "b": 1.0}, "must be a number of at least 0, not -1.0"),
        ({"a": 0.0, "b": 0.0}, "no vote would count"),
        (
            {"a": 1e308, "b": 1.0},
            "the weight of 'a' is too large: 1e[+]308; only the ratio matters",
        ),
    ],
)
def test_weights_that_cannot_be_are_refused(weights: dict[str, float], text: str) -> None:
    with pytest.raises(SetupError, match=text):
        AspectCritic("c", [model(lambda _: "PASS", name) for name in "ab"], weights=weights)


def test_weights_of_an_eval_file_reach_the_judge() -> None:
    file = parse_eval(
        "data: x.csv\nmodels: [scripted/PASS, scripted/FAIL]\n"
        "judges: [{kind: aspect, criteria: 'Is it good?', weights: {scripted/PASS: 2, "
        "scripted/FAIL: 1}}]"
    )
    (ready,) = resolve(file).judges
    assert isinstance(ready.judge, AspectCritic)
    assert ready.judge.weights == {"scripted/PASS": 2.0, "scripted/FAIL": 1.0}


def test_weights_make_another_judge_and_none_leave_it_what_it_was(tmp_path: Path) -> None:
    members = [model(lambda _: "PASS", name) for name in "ab"]
    identities = []
    for place, weights in enumerate((None, {"a": 1, "b": 2})):
        AspectCritic("c", members, weights=weights).evaluate("x", run=tmp_path / str(place))
        identities.append(run_info(tmp_path / str(place)).identities["AspectCritic"])
    configuration = run_info(tmp_path / "0").judge_configurations["AspectCritic"]
    without = configuration.without("weights")
    assert judge_identity(without) == identities[0] != identities[1]


def test_copies_do_not_make_a_panel_surely_worse() -> None:
    """All 30 rows on which the member is right and the panel wrong are copies of one text."""
    truth, units = ["yes"] * 60, ["canned"] * 30 + [str(place) for place in range(30)]
    own: list[str | None] = [*["yes"] * 60]
    panel_says: list[str | None] = [*["no"] * 30, *["yes"] * 30]
    assert against_best_member(panel_says, {"a": own}, truth).warning
    assert not against_best_member(panel_says, {"a": own}, truth, clusters=units).warning
