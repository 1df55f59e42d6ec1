"""Benchmarks as they are cloned give the figures that they publish: import, then one command.

``ADJUDGE_BENCHMARKS`` names the folder of the clones: JudgeBench, LLMBar, alpaca_eval, auto-j,
PandaLM, ReIFE and exaggerated-safety.
"""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from adjudge.features.importers.importing import ImportOptions, import_file
from adjudge.stats.agreement import Missing
from adjudge.stats.bootstrap import Draws
from adjudge.trust.agreement import AgreementReport, AgreementSettings
from adjudge.trust.calibration import CalibrationSettings, calibrate_run
from support.commands import adjudge

CLONES = os.environ.get("ADJUDGE_BENCHMARKS")
pytestmark = pytest.mark.skipif(
    not CLONES, reason="ADJUDGE_BENCHMARKS names no folder with clones of the benchmarks"
)


def clone(name: str) -> Path:
    found = Path(CLONES or "") / name
    if not found.is_dir():
        pytest.skip(f"{name} is not in {CLONES}")
    return found


def commands(folder: Path, files: list[Path], command: str, *options: str) -> list[Any]:
    """What a command says of files that were imported."""
    done = adjudge("import", *map(str, files), "--run", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    shown = adjudge(command, "run", *options, "--json", cwd=folder)
    found: list[Any] = json.loads(shown.stdout)["results"]
    return found


def agreements(
    folder: Path, files: list[Path], missing: Missing = "wrong", **options: Any
) -> dict[str, AgreementReport]:
    import_file(files, folder / "run", ImportOptions(**options))
    settings = CalibrationSettings(
        agreement=AgreementSettings(missing=missing, draws=Draws(count=2))
    )
    return {
        one.judge: one.agreement
        for one in calibrate_run(folder / "run", settings=settings)
        if one.agreement
    }


JUDGEBENCH = {
    (
        "response_model=claude-3-5-sonnet-20240620,judge_name=arena_hard,"
        "judge_model=claude-3-haiku-20240307"
    ): 32.22,
    "response_model=gpt-4o-2024-05-13,judge_name=arena_hard,judge_model=o1-mini-2024-09-12": 65.71,
    (
        "response_model=gpt-4o-2024-05-13,judge_name=reward_model,"
        "judge_model=Ray2333_GRM-Gemma-2B-rewardmodel-ft"
    ): 59.43,
    (
        "response_model=gpt-4o-2024-05-13,judge_name=reward_model,"
        "judge_model=Skywork_Skywork-Reward-Gemma-2-27B"
    ): 64.29,
    (
        "response_model=gpt-4o-2024-05-13,judge_name=reward_model,"
        "judge_model=Skywork_Skywork-Reward-Llama-3.1-8B"
    ): 62.29,
    (
        "response_model=gpt-4o-2024-05-13,judge_name=reward_model,"
        "judge_model=internlm_internlm2-20b-reward"
    ): 63.43,
    (
        "response_model=gpt-4o-2024-05-13,judge_name=reward_model,"
        "judge_model=internlm_internlm2-7b-reward"
    ): 59.43,
}


@pytest.mark.parametrize("name", JUDGEBENCH)
def test_judgebench(tmp_path: Path, name: str) -> None:
    file = clone("JudgeBench") / "outputs" / f"dataset=judgebench,{name}.jsonl"
    (one,) = commands(tmp_path, [file], "calibrate", "--missing", "wrong")
    assert round(100 * one["agreement"]["orders"]["all"]["mostly_right"], 2) == JUDGEBENCH[name]


@pytest.mark.parametrize(
    "strategy", ["Swap", "Swap_CoT", "Vanilla", "CoT", "Metrics_Reference", "Rating"]
)
def test_llmbar(tmp_path: Path, strategy: str) -> None:
    seen = sorted(
        (clone("LLMBar") / "Dataset" / "LLMBar" / "Natural").glob(
            f"evaluators/*/{strategy}/result.json"
        )
    )
    assert seen
    for place, file in enumerate(seen):
        (one,) = agreements(tmp_path / str(place), [file]).values()
        published = json.loads(file.with_name("statistics.json").read_text())
        names = ("correct_False", "correct_True", "correct_both", "equal")
        wanted = [
            float(found[1]) / 100
            for name in names
            if (found := re.search(r"([\d.]+)%", published[name]))
        ]
        orders = one.orders[""]
        assert [*orders.right, orders.both, orders.alike] == pytest.approx(wanted), file


def test_alpaca_eval_2(tmp_path: Path) -> None:
    root = clone("alpaca_eval")
    board = root / (
        "src/alpaca_eval/leaderboards/data_AlpacaEval_2/"
        "weighted_alpaca_eval_gpt4_turbo_leaderboard.csv"
    )
    published = {
        row[""]: float(row["win_rate"])
        for row in csv.DictReader(board.read_text(encoding="utf-8").splitlines())
    }
    seen = 0
    for model in ("NullModel", "alpaca-7b", "claude-2", "FuseChat-Gemma-2-9B-Instruct"):
        file = root / "results" / model / "weighted_alpaca_eval_gpt4_turbo" / "annotations.json"
        if file.is_file():
            (tmp_path / model).mkdir()
            (one,) = commands(tmp_path / model, [file], "rank", "--draws", "100")
            rates = {place["system"]: 100 * place["win_rate"] for place in one["places"]}
            assert next(
                rate for name, rate in rates.items() if name != "gpt4_1106_preview"
            ) == pytest.approx(published[model])
            seen += 1
    assert seen


def test_auto_j(tmp_path: Path) -> None:
    data = clone("auto-j") / "data"
    outputs = [
        data / "outputs" / f"pairwise_{name}example_output.jsonl" for name in ("", "exchange_")
    ]
    (one,) = commands(tmp_path, [data / "test" / "testdata_pairwise.jsonl", *outputs], "calibrate")
    orders = one["agreement"]["orders"]["all"]
    assert (round(100 * orders["right_in_both"], 2), round(100 * orders["consistency"], 2)) == (
        54.96,
        83.41,
    )
    assert round(100 * orders["by_order"][0], 2) == 59.99


def test_critiques_of_auto_j(tmp_path: Path) -> None:
    path = clone("auto-j") / "data" / "outputs" / "gpt-4-Eval_auto-j_vs_chatgpt.jsonl"
    import_file(path, tmp_path / "run")
    shown = " ".join(adjudge("runs", "show", str(tmp_path / "run")).stdout.split())
    assert "auto-j 171 5 56" in shown  # 73.7, 2.2 and 24.1 % of 232


def test_pandalm(tmp_path: Path) -> None:
    names = ("testset-v1", "gpt-3.5-turbo-testset-v1", "pandalm-7b-testset-v1")
    found = agreements(
        tmp_path, [clone("PandaLM") / "data" / f"{name}.json" for name in names], "tie"
    )
    figures = ("accuracy", "macro precision", "macro recall", "macro F1")
    shown = {
        judge: [round(100 * (one.figures[name].value or 0), 2) for name in figures]
        for judge, one in found.items()
    }
    assert shown == {"gpt": [71.07, 58.79, 57.36, 57.55], "pandalm": [66.77, 57.38, 57.5, 57.43]}


@pytest.mark.parametrize(
    ("data", "model"),
    [
        ("llmbar_natural", "llama-3-70b"),
        ("mtbench", "qwen-2-72b"),
        ("llmbar_adversarial", "yi-1.5-9b"),
    ],
)
def test_reife(tmp_path: Path, data: str, model: str) -> None:
    root = clone("ReIFE")
    protocols = [
        one
        for name in ("methods", "benchmark_methods")
        for one in yaml.safe_load((root / f"misc/{name}.yaml").read_text())
    ]
    files, published = [root / "data" / f"{data}.json"], {}
    for one in protocols:
        tail = f".{one['fdir_ext']}" if "fdir_ext" in one else ""
        both = [
            root / "results" / f"{data}.{model}.{one['fdir']}{swap}{tail}.jsonl"
            for swap in ("", "_swap")
        ]
        figures = root / "results" / "meta_eval_cache" / f"{data}.{model}.{one['name']}.json"
        if all(file.is_file() for file in (*both, figures)):
            files += both
            published[f"{model}.{one['fdir']}{tail}"] = json.loads(figures.read_text())
    assert published
    found = agreements(tmp_path, files, "drop", unreadable="recorded")
    shown = {judge: (one.orders[""].accuracy, one.orders[""].alike) for judge, one in found.items()}
    assert shown.keys() == published.keys()
    for judge, (right, alike) in shown.items():
        assert (right, alike) == pytest.approx(
            (published[judge]["acc"], published[judge]["models_acc"])
        ), judge


@pytest.mark.parametrize(
    ("model", "alike", "kappa"),
    [
        ("llama2orig", 96.4, 0.93),
        ("llama2new", 95.8, 0.93),
        ("mistralinstruct", 97.6, 0.92),
        ("mistralguard", 93.8, 0.89),
        ("gpt4", 98.4, 0.97),
    ],
)
def test_xstest(tmp_path: Path, model: str, alike: float, kappa: float) -> None:
    folder = clone("exaggerated-safety") / "evaluation" / "automated_evaluation_labels"
    files = [folder / f"xstest_v2_completions_{model}_{judge}eval.csv" for judge in ("gpt", "str")]
    found = agreements(tmp_path, files)
    assert found.keys() == {"gpt4", "strmatch"}
    people = found["gpt4"].people["annotator 1", "annotator 2"]
    assert (round(100 * (people.accuracy.value or 0), 1), round(people.kappa.value or 0, 2)) == (
        alike,
        kappa,
    )
