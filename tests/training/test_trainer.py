"""The trainer's model against llama.cpp, the exported adapter against both, and the figures by
hand.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from training.texts import World

np = pytest.importorskip("numpy", reason="requirements/training.txt is not installed")
torch = pytest.importorskip("torch", reason="requirements/training.txt is not installed")

from training.figures import Setting, figures, fit, threshold  # noqa: E402
from training.scoring import Reading  # noqa: E402

from support.training_examples import examples  # noqa: E402


def reading(odds: float, truth: int, prior: float = 0.0, criterion: int = 0) -> Any:
    return Reading("kind", "tuning", "yes_no", False, criterion, truth, _logs(odds), _logs(prior))


def _logs(odds: float) -> Any:
    yes = -math.log1p(math.exp(-odds))
    return np.array([yes, yes - odds])


def test_a_prior_that_leans_to_no_is_found_and_taken_out() -> None:
    found = [
        reading(-4 + shift, truth, prior=-4.0)
        for shift, truth in [(1.5, 0), (2.0, 0), (-2.0, 1), (-1.0, 1)] * 10
    ]
    settings = fit(found, ["yes_no"])
    assert settings["yes_no"].prior_weight > 0.8
    plain = figures(found, {"yes_no": Setting(1.0, 0.0)})
    assert (plain.raw, figures(found, settings).calibrated, plain.centred, plain.auc) == (
        0.5,
        1.0,
        1.0,
        1.0,
    )


def test_the_threshold_is_where_enough_verdicts_are_right() -> None:
    sure, unsure = [reading(4.0, 0)] * 80, [reading(0.3, 0)] * 10 + [reading(0.3, 1)] * 10
    settings = {"yes_no": Setting(1.0, 0.0)}
    assert threshold(sure + unsure, settings, 0.95) == pytest.approx(
        1 / (1 + math.exp(-4.0)), abs=2e-3
    )
    assert threshold(unsure, settings, 0.95) == 1.0


@pytest.fixture(scope="module")
def two_layers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("xllamacpp", reason="the extra adjudge[gguf] is not installed")
    from training.f16 import rewrite

    from adjudge.errors import SetupError
    from adjudge.features.local.weights.store import find

    try:
        weights = find("smollm2-135m")
    except SetupError as error:
        pytest.skip(str(error))
    path = tmp_path_factory.mktemp("cut") / "two.gguf"
    rewrite(weights, path, layers=2)
    return path


def test_an_exported_adapter_says_on_the_cpu_what_the_trainer_says(
    two_layers: Path, tmp_path: Path
) -> None:
    from training.adapters import save_adapter
    from training.check import compare, reader
    from training.export import export
    from training.model import Llama
    from training.scoring import label_logprobs

    torch.manual_seed(0)
    model, made = Llama(two_layers), examples([40, 25, 61, 33])
    raw = label_logprobs(model, made, np.arange(4), exact=True)
    for matrix in model.matrices().values():
        rows, columns = matrix.weight.shape
        matrix.add_change(torch.randn(16, columns) * 0.05, torch.randn(rows, 16) * 0.05)
    logs = label_logprobs(model, made, np.arange(4), exact=True)
    assert np.abs(logs[:, :2] - raw[:, :2]).max() > 0.01
    save_adapter(model, tmp_path / "adapter.npz")
    assert export(tmp_path / "adapter.npz", tmp_path / "adapter.gguf") < 10_000_000
    scores = {"places": [0, 1, 2, 3], "logprobs": logs[:, :2].tolist()}
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    same, count, worst = compare(
        made, tmp_path / "scores.json", reader("xllamacpp", two_layers, tmp_path / "adapter.gguf")
    )
    assert (same, count) == (4, 4) and worst < 0.03


def test_a_rounded_network_is_near_the_one_that_is_not_and_learns_the_same(
    two_layers: Path, tmp_path: Path
) -> None:
    from training.adapters import factors, put_beside
    from training.eight_bits import look_again, prepare
    from training.model import Llama

    torch.manual_seed(0)
    model: Any = Llama(two_layers)
    shapes = {name: matrix.weight.shape for name, matrix in model.matrices().items()}
    put_beside(
        model,
        {
            name: (torch.randn(8, width) * 0.05, torch.randn(out, 8) * 0.05)
            for name, (out, width) in shapes.items()
        },
    )
    ids, last = torch.tensor([[1, *range(50, 90)]]), torch.tensor([[40]])
    logs, gradients = {}, {}
    for rounds in (False, True):
        if rounds:
            prepare(model, two_layers)
            look_again(model, two_layers, factors(model))
        model.rounds = rounds
        model.train().through = model.plain
        model.zero_grad()
        found = model(ids, last)[0, 0, 60:90].log_softmax(-1)
        found[0].backward()
        logs[rounds] = found.detach()
        gradients[rounds] = model.matrices()["blk.0.ffn_down"].b.grad.flatten()
    difference = (logs[True] - logs[False]).abs().max()
    assert 0 < difference < 0.1 * logs[False].std()
    assert torch.cosine_similarity(gradients[True], gradients[False], 0) > 0.98


def test_cutting_keeps_a_change_of_low_rank(two_layers: Path, tmp_path: Path) -> None:
    from training.adapters import cut, save_adapter, start_from
    from training.model import Llama

    model: Any = Llama(two_layers)
    name, matrix = next(iter(model.matrices().items()))
    change = torch.randn(matrix.weight.shape[0], 4) @ torch.randn(4, matrix.weight.shape[1]) * 0.01
    before = {key: one.weight.detach().clone() for key, one in model.matrices().items()}
    matrix.weight.data += change
    cut(model, before, 16)
    assert torch.equal(matrix.weight, before[name])
    assert torch.allclose(matrix.b @ matrix.a, change, atol=1e-3)
    assert sum(weight.requires_grad for weight in model.parameters()) == 2 * len(model.matrices())
    save_adapter(model, tmp_path / "cut.npz")
    again: Any = Llama(two_layers)
    start_from(again, tmp_path / "cut.npz")
    assert torch.allclose(again.matrices()[name].a, matrix.a, atol=1e-2)


def test_changes_of_unlike_rank_are_filled_up_and_saved_without_that(
    two_layers: Path, tmp_path: Path
) -> None:
    from training.adapters import put_beside, save_adapter, start_from
    from training.model import Llama

    model: Any = Llama(two_layers)
    sizes = {
        name: (2 + place % 3, *matrix.weight.shape)
        for place, (name, matrix) in enumerate(model.matrices().items())
    }
    put_beside(
        model,
        {
            name: (torch.randn(rank, width), torch.randn(out, rank))
            for name, (rank, out, width) in sizes.items()
        },
    )
    assert {len(matrix.a) for matrix in model.matrices().values()} == {4}
    loss = model(torch.arange(20, 60)[None], torch.tensor([[39]])).sum()
    loss.backward()
    for name, matrix in model.matrices().items():
        assert (
            not matrix.a.grad[sizes[name][0] :].any()
            and not matrix.b.grad[:, sizes[name][0] :].any()
        )
    save_adapter(model, tmp_path / "adapter.npz")
    with np.load(tmp_path / "adapter.npz") as file:
        assert all(len(file[f"{name}.weight.lora_a"]) == rank for name, (rank, *_) in sizes.items())
    again: Any = Llama(two_layers)
    start_from(again, tmp_path / "adapter.npz")
    name, matrix = next(iter(model.matrices().items()))
    assert torch.allclose(
        again.matrices()[name].b @ again.matrices()[name].a, matrix.b @ matrix.a, atol=0.02
    )


def test_batches_of_both_sorts_learn_the_tokens_behind_the_places(two_layers: Path) -> None:
    from training.data import Translations
    from training.model import Llama
    from training.steps import Steps, judged, right_answers, translated

    made = examples([40, 25, 61, 33])
    right = right_answers(made)
    (batch,) = [one for one in judged(made, right, 256, 0) if one.ids.shape[1] == 48]
    assert batch.ids.shape == (5, 48) and batch.at[0, 0] == 39
    assert batch.truth[0, 0, made.truth[0]] == made.labels[0, made.truth[0]]
    assert batch.shares[0, 0, made.truth[0]] == 1 and batch.shares.sum() == 1
    texts = Translations(
        np.arange(70, dtype=np.uint16), np.array([40, 30], np.int32), np.array([6, 5], np.int32)
    )
    found = {one.ids.shape[1]: one for one in translated(texts, 96, 0)}
    assert found[48].truth[0, :7, 0].tolist() == [34, 35, 36, 37, 38, 39, 0]
    assert found[48].shares[0, :7, 0].tolist() == [1, 1, 1, 1, 1, 1, 0]
    assert found[48].ids[0, found[48].at[0, :6] + 1].tolist() == [34, 35, 36, 37, 38, 39]
    model = Llama(two_layers).train()
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    steps = Steps(model, trained, fast=False)
    first = steps(found[48])
    kept = [weight.grad.clone() for weight in trained]
    assert steps(found[48]) == first and all(
        torch.equal(a, b.grad) for a, b in zip(kept, trained, strict=True)
    )
    wanted = -model(torch.from_numpy(found[32].ids), torch.from_numpy(found[32].at))[0, :5]
    assert steps(found[32]).item() == pytest.approx(
        wanted.gather(1, torch.arange(65, 70)[:, None]).mean().item(), rel=1e-5
    )


def test_the_tokeniser_reads_what_the_judge_reads(two_layers: Path, world: World) -> None:
    import random

    from training.kinds.base import Draw
    from training.prompts import Tokeniser, shown
    from training.rows import all_kinds

    from adjudge.features.local.llama import Llama

    tokeniser, llama = Tokeniser(two_layers), Llama(two_layers)
    drawn = [
        kind.make(
            Draw(
                world,
                random.Random(7),
                "ru" if place % 3 == 0 and "ru" in kind.languages else "en",
                False,
            )
        )
        for place, kind in enumerate(all_kinds()[::7])
    ]
    prompts = [one.prompt for case in drawn if case for one in shown(case, "en")]
    split_as_scored = [llama._split(prompt) for prompt in prompts]
    assert tokeniser.label("Yes") == llama._label("Yes")
    assert len(prompts) > 50 and tokeniser.prompts(prompts) == [
        shared + own for shared, own in split_as_scored
    ]


def test_prompts_are_tokenised_alike_by_one_process_and_by_many(
    two_layers: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training import build, rows

    monkeypatch.setattr(rows, "all_kinds", lambda kinds=rows.all_kinds: kinds()[:2])
    found = rows.rows(world, 20, 1)
    alone = build.tokenised(found, two_layers)
    monkeypatch.setattr(build, "_AT_ONCE", len(found) // 3)
    shared = build.tokenised(found, two_layers)
    assert (
        len(alone.lengths) > 40
        and np.array_equal(alone.ids, shared.ids)
        and np.array_equal(alone.lengths, shared.lengths)
    )
