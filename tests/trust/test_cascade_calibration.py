"""Thresholds of cascades and weights of panels, learned from labels by commands and used by eval
files.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import AspectCritic, Cascade, DirectJudge, Instance, SetupError
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.label import Design, Label
from adjudge.core.engine.identity import panel_identity
from adjudge.core.judges.learnt_settings import Learnt
from adjudge.features.stress.card import judge_cards
from adjudge.features.stress.card_report import judge_card_page
from adjudge.runs.eval_file import parse_eval
from adjudge.runs.folder import run_info
from adjudge.runs.model_overrides import by_models
from adjudge.runs.plan import resolve
from adjudge.runs.project import ModelEntry
from adjudge.runs.results.run_report import report_of_run
from adjudge.stats.selective import Stage, cascade_thresholds
from adjudge.trust import calibrate_cascades
from adjudge.trust.cascades import CascadeSettings
from adjudge.trust.labels.store import LabelStore
from support import commands
from support.asking import marked, truth
from support.cascades import CHEAP, DEAR, answers, dear_calls, label
from support.fake_provider import KEY, FakeProvider
from support.labels import model

ROWS = 120


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as one:
        one.answer = answers
        yield one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, provider: FakeProvider) -> Path:
    """With a labelled run of a cascade that has no calibration yet."""
    made = tmp_path_factory.mktemp("cascade")
    (made / "rows.csv").write_text("response\n" + "\n".join(marked(ROWS)) + "\n")
    (made / "all.yaml").write_text(eval_file(provider))
    done = adjudge(made, "run", "all.yaml", "--no-cache")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert (
        "the cascade has no calibration: every step is asked about every row, and "
        "openai/gpt-4o decides"
    ) in said
    label(made / "runs/all", ROWS)
    return made


def eval_file(provider: FakeProvider, more: str = "", votes: int = 3) -> str:
    at = f"base_url: '{provider.base_url('openai')}'"
    return f"""\
data: rows.csv
judges:
  - kind: aspect
    criteria: {{name: marks, description: The mark must end in Y.}}
    cascade: [{{model: {CHEAP}, {at}}}, {{model: {DEAR}, {at}, strictness: 2}}]
    strictness: {votes}
    seed: 0
    {more}
"""


def adjudge(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return commands.adjudge(
        *words, cwd=folder, environment={**os.environ, "OPENAI_API_KEY": KEY, "COLUMNS": "200"}
    )


def test_from_labels_to_a_cascade_that_saves_calls(folder: Path, provider: FakeProvider) -> None:
    done = adjudge(
        folder, "calibrate", "runs/all", "--cascade", "--risk", "0.2", "-o", "cascade.json"
    )
    assert done.returncode == 0, done.stderr
    assert (
        "at most 20.0% of the accepted verdicts are wrong, except with probability 0.05; "
        "learned from 120 labels"
    ) in done.stdout
    assert (
        "openai/gpt-4o-mini: accept if the confidence is at least 1.000: 90 of 120 labelled rows, "
        "0 of them wrong"
    ) in done.stdout
    (folder / "second.yaml").write_text(eval_file(provider, "calibration: cascade.json"))
    dry = adjudge(folder, "run", "second.yaml", "--no-cache", "--dry-run")
    assert "calls: 360 to " in dry.stdout
    before = dear_calls(provider)
    done = adjudge(
        folder, "run", "second.yaml", "--no-cache", "-o", "rows.jsonl", "-o", "report.html"
    )
    assert (done.returncode, dear_calls(provider) - before) == (0, 60)
    said = " ".join(done.stdout.split())
    assert (
        "decided by openai/gpt-4o-mini 90, openai/gpt-4o 30; openai/gpt-4o was not asked "
        "about 90 of 120 rows"
    ) in said
    assert (
        "; about 180 calls to it saved; $0." in said
        and "learned from 120 labels of 2023-11-14" in said
    )
    kept = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    assert Counter(one["decided_by"] for one in kept) == {CHEAP: 90, DEAR: 30}
    assert all(one["decided_by"] in {vote["model"] for vote in one["votes"]} for one in kept)
    assert "decided by openai/gpt-4o-mini" in (folder / "report.html").read_text()
    (folder / "third.yaml").write_text(eval_file(provider, "calibration: cascade.json", votes=5))
    refused = adjudge(folder, "run", "third.yaml")
    assert (
        refused.returncode == 1
        and "third.yaml, line 3: the threshold of openai/gpt-4o-mini for 'marks'" in refused.stderr
    )
    label(folder / "runs/second", ROWS)
    with pytest.raises(
        SetupError, match="had thresholds, so not every step was asked about every row"
    ):
        calibrate_cascades(folder / "runs/second")


def test_labels_that_speak_for_no_step_are_a_refusal(folder: Path, tmp_path: Path) -> None:
    rows = [(Instance({"response": text}).identity, truth(text)) for text in marked(20)]
    labels = [
        {"row": row, "option": option, "annotator": "ann", "design": "random"}
        for row, option in rows
    ]
    (tmp_path / "few.jsonl").write_text("".join(json.dumps(one) + "\n" for one in labels))
    few, target = str(tmp_path / "few.jsonl"), tmp_path / "none.json"
    done = adjudge(
        folder, "calibrate", "runs/all", "--cascade", "--json", "--labels", few, "-o", str(target)
    )
    assert done.returncode == 5 and not target.exists(), done.stderr
    (found,) = json.loads(done.stdout)["results"]
    assert found["refusal"]["code"] == "never_accept" and [
        one["confidence"] for one in found["steps"]
    ] == [None, None]
    assert (
        found["steps"][0]["reason"]
        == "20 labelled rows with a confidence; at least 36 are needed to show a risk of "
        "10.0%"
    )


def test_only_rows_drawn_among_all_rows_count_and_each_text_once(folder: Path) -> None:
    def given(design: Design, rows: range, annotator: str = "ann") -> list[Label]:
        texts = marked(ROWS)
        identities = [Instance({"response": texts[row]}).identity for row in rows]
        return [
            Label(
                row=one,
                criteria="marks",
                annotator=annotator,
                option=truth(texts[row]),
                design=design,
            )
            for one, row in zip(identities, rows, strict=True)
        ]

    labels = [
        *given("random", range(50)),
        *given("chosen", range(50, 60)),
        *given("random", range(10), "bob"),
    ]
    (found,) = calibrate_cascades(folder / "runs/all", labels)
    assert found.thresholds.labels == 50
    assert (
        "10 labelled rows were not drawn among all rows, and say nothing about a cascade's errors"
        in found.notes
    )
    (alone,) = calibrate_cascades(folder / "runs/all", given("chosen", range(60)))
    assert alone.refusal is not None and alone.refusal.code == "chosen_rows"
    (grouped,) = calibrate_cascades(
        folder / "runs/all", labels, settings=CascadeSettings(cluster="response")
    )
    assert grouped.thresholds.labels == 50


def test_the_promise_is_kept_where_the_steps_err_on_the_same_rows() -> None:
    """Short form of ``benchmarks/coverage.py --only cascades``: the risk is at most α in 1 - δ of
    the splits.
    """
    choice = random.Random(5)
    population = [hard_row(choice) for _ in range(3000)]
    cells, kept, accepted = Counter(population), 0, 0
    for _ in range(50):
        drawn = choice.sample(population, 400)
        stages = [
            Stage([row[step][0] for row in drawn], [row[step][1] for row in drawn])
            for step in (0, 1)
        ]
        needed = [one.confidence for one in cascade_thresholds(stages, risk=0.15, doubt=0.1)]
        right = Counter(
            {
                one: sum(count for row, count in cells.items() if decided(row, needed) is one)
                for one in (True, False)
            }
        )
        kept += right[False] <= 0.15 * right.total()
        accepted += right.total() > 0
    assert kept >= 0.9 * 50
    assert accepted > 25


def hard_row(choice: random.Random) -> tuple[tuple[float, bool], tuple[float, bool]]:
    """(confidence, right) of two steps: what is hard for one is hard for the other; confidences are
    shares of five votes.
    """
    ease = choice.random()
    return one_step(choice, 0.55 + 0.45 * ease), one_step(choice, 0.7 + 0.3 * ease)


def one_step(choice: random.Random, chance: float) -> tuple[float, bool]:
    votes = sum(choice.random() < chance for _ in range(5))
    return max(votes, 5 - votes) / 5, votes >= 3


def decided(row: tuple[tuple[float, bool], ...], needed: list[float | None]) -> bool | None:
    """Whether the first step that is sure enough is right; None where none is."""
    accepted = [
        right
        for (sure, right), least in zip(row, needed, strict=True)
        if least is not None and sure >= least
    ]
    return accepted[0] if accepted else None


# -- eval files ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("cascade: scripted/PASS", "at least two steps"),
        (
            "cascade: [scripted/PASS, scripted/FAIL], models: scripted",
            "models or a cascade of them, not both",
        ),
        ("cascade: [scripted/PASS, scripted/FAIL], early_stop: true", "cannot stop early"),
        (
            "cascade: [scripted/PASS, scripted/FAIL], weights: {a: 1}",
            "leave them out for a cascade",
        ),
        (
            "cascade: [scripted/PASS, scripted/FAIL], calibration: none.json",
            "none.json cannot be read",
        ),
        (
            "calibration: x.json",
            "nothing uses the calibration: add cascade, or weights: from labels",
        ),
        ("weights: from labels", "weights: from labels needs calibration"),
        ("weights: from somewhere", "must be one of from labels, not 'from somewhere'"),
        (
            "cascade: [scripted/PASS, {model: scripted/FAIL, strictness: 0}]",
            "must be a whole number from 1",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(keys: str, text: str) -> None:
    with pytest.raises(SetupError, match=r"eval\.yaml, line 2.*" + text):
        resolve(
            parse_eval(
                "data: x.csv\njudges: [{kind: aspect, criteria: 'Is it good?', " + keys + "}]"
            )
        )


def test_models_of_the_command_line_are_the_steps() -> None:
    file = parse_eval(
        "data: x.csv\njudges: [{kind: direct, criteria: 'Is it good?', cascade: "
        "[scripted/Yes, scripted/No]}]"
    )
    (ready,) = resolve(
        by_models(file, [ModelEntry(model="scripted/No"), ModelEntry(model="scripted/Yes")])
    ).judges
    assert isinstance(ready.judge, Cascade) and list(ready.judge.panel) == [
        "scripted/No",
        "scripted/Yes",
    ]
    (ready,) = resolve(by_models(file, [ModelEntry(model="scripted/No")])).judges
    assert isinstance(ready.judge, DirectJudge) and list(ready.judge.panel) == ["scripted/No"]


# -- weights -------------------------------------------------------------------------


def panel(weights: Path | None = None, **settings: object) -> AspectCritic:
    members = [
        model(lambda text, name=name: "PASS" if f"{name}=yes" in text else "FAIL", name)  # type: ignore[misc]
        for name in "ab"
    ]
    return AspectCritic("Is it good?", members, name="good", weights=weights, **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def weighed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A labelled run of a panel, of which b is right and a says anything; and the weights that the
    labels support.
    """
    folder, choice = tmp_path_factory.mktemp("weights"), random.Random(2)
    good = [choice.random() < 0.5 for _ in range(60)]
    yes = {True: "yes", False: "no"}
    rows = [
        Instance({"response": f"{n} a={yes[choice.random() < 0.5]} b={yes[one]}"})
        for n, one in enumerate(good)
    ]
    panel().evaluate(rows, run=folder / "run")
    LabelStore(folder / "run").add(
        *(
            Label(
                row=row.identity,
                criteria="good",
                annotator="ann",
                option="PASS" if one else "FAIL",
                design="random",
                at=1.7e9,
            )
            for row, one in zip(rows, good, strict=True)
        )
    )
    done = adjudge(folder, "calibrate", "run", "-o", "weights.json")
    assert done.returncode == 0 and "name it under 'calibration' in the eval file" in done.stderr
    return folder


def test_weights_from_labels_decide_and_say_where_they_come_from(weighed: Path) -> None:
    critic = panel(weighed / "weights.json")
    result = critic.evaluate("a=yes b=no", run=weighed / "second")
    assert (result.verdict, panel().evaluate("a=no b=yes").tie) == ("FAIL", True)
    (learnt,) = Learnt.read(weighed / "weights.json").weights
    assert (learnt.labels, learnt.date, learnt.weights["b"]) == (60, "2023-11-14", 1.0)
    (remark,) = report_of_run(weighed / "second").remarks
    assert remark.startswith("AspectCritic: weights a 0")
    assert remark.endswith(
        f", b 1, learned from 60 labels of 2023-11-14 (judge identity {learnt.identity})"
    )
    assert (
        f"learned from 60 labels of 2023-11-14 (judge identity {learnt.identity})"
        in judge_card_page(judge_cards(weighed / "second"))
    )
    assert replace(critic, early_stop=True).shares == critic.shares
    configuration = run_info(weighed / "second").judge_configurations["AspectCritic"]
    assert panel_identity(configuration, "good") == learnt.identity


@pytest.mark.parametrize("changed", [{"strictness": 3}, {"temperature": 0.3}, {"language": "ru"}])
def test_weights_of_another_panel_are_refused(weighed: Path, changed: dict[str, object]) -> None:
    with pytest.raises(
        SetupError, match="the weights for 'good' cannot be used, because the judge has changed"
    ):
        panel(weighed / "weights.json", **changed)


def test_weights_from_labels_in_an_eval_file(weighed: Path) -> None:
    keys = (
        "criteria: {name: good, description: 'Is it good?'}, models: [scripted/PASS, scripted/FAIL]"
    )
    path = weighed / "eval.yaml"
    with pytest.raises(SetupError, match="the weights for 'good' cannot be used"):
        resolve(
            parse_eval(
                f"data: x.csv\njudges: [{{kind: aspect, {keys}, weights: from labels, "
                f"calibration: weights.json}}]",
                path,
            )
        )
    (learnt,) = Learnt.read(weighed / "weights.json").weights
    (plain,) = resolve(parse_eval(f"data: x.csv\njudges: [{{kind: aspect, {keys}}}]", path)).judges
    identity = panel_identity(JudgeConfiguration.of(plain.judge.configuration()), "good")
    own = replace(learnt, identity=identity, weights={"scripted/PASS": 1.0, "scripted/FAIL": 0.25})
    Learnt(weights=(own,)).write(weighed / "own.json")
    (ready,) = resolve(
        parse_eval(
            f"data: x.csv\njudges: [{{kind: aspect, {keys}, weights: from labels, "
            f"calibration: own.json}}]",
            path,
        )
    ).judges
    assert isinstance(ready.judge, AspectCritic) and ready.judge.shares == own.weights


def test_a_run_without_a_panel_has_no_weights_to_write(folder: Path) -> None:
    done = adjudge(folder, "calibrate", "runs/all", "-o", "weights.json")
    assert done.returncode == 1 and "has no panel of models that could be weighted" in done.stderr
