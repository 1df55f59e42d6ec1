"""One eval file, judged in every way there is: the exports have the same bytes.

``make test-scale`` compares 20,000 rows with three votes each, also over Ray and Postgres; ``make
test`` a few.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from adjudge import judge_partition
from adjudge.features.scale.partition import merge_partitions, partitions
from adjudge.runs.eval_file import EvalFile, parse_eval
from adjudge.runs.folder import run_info
from adjudge.runs.plan import resolve
from support.asking import marked
from support.batching import judged
from support.fake_batches import BatchProvider
from support.fake_provider import KEY
from support.partitions import exported, on_one_machine
from support.stores import postgres_server

ROWS = int(os.environ.get("ADJUDGE_SCALE_ROWS", "30"))
VOTES = 3
CODE = """
import sys
sys.path[:0] = {paths!r}
from adjudge.runs.cli.main import main
sys.argv = ["adjudge", "run", {file!r}, "--run", {run!r}, "--no-cache", "-q", *{more!r}]
main()
"""


@dataclass(frozen=True)
class Made:
    """What is judged, and what one machine makes of it."""

    file: EvalFile
    provider: BatchProvider
    expected: tuple[bytes, bytes]

    @property
    def folder(self) -> Path:
        return self.file.path.parent


@pytest.fixture(scope="module")
def made() -> Iterator[Made]:
    with (
        BatchProvider() as provider,
        TemporaryDirectory() as place,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("OPENAI_API_KEY", KEY)
        folder = Path(place)
        lines = [json.dumps({"id": str(n), "answer": text}) for n, text in enumerate(marked(ROWS))]
        (folder / "rows.jsonl").write_text("\n".join(lines))
        model = (
            f"{{model: openai/gpt-4o-mini, base_url: {provider.batch_url('openai')}, "
            f"max_concurrency: 64}}"
        )
        judge = f"{{kind: aspect, criteria: The mark must end in Y., strictness: {VOTES}}}"
        text = f"data: rows.jsonl\nmodels: [{model}]\njudges: [{judge}]\n"
        (folder / "eval.yaml").write_text(text)
        file = parse_eval(text, folder / "eval.yaml")
        expected = exported(on_one_machine(file, folder / "one machine"))
        assert len(provider.requests) == VOTES * ROWS
        yield Made(file, provider, expected)


def in_batches(made: Made, run: Path) -> None:
    judged(resolve(made.file, cache=False, folder=run))
    assert not made.provider.requests


def in_segments(made: Made, run: Path) -> None:
    store = made.folder / "store"
    for number, part in enumerate(partitions(made.file, max(ROWS // 9, 1))):
        judge_partition(part, made.file, store, writer=f"writer-{number % 3}", cache=False)
    merge_partitions(store, run)


def by_two_postgres_workers(made: Made, run: Path) -> None:
    url = f"{postgres_server()}#same-export"
    both = [
        started(made, one, "--on", url, "--workers", "2")
        for one in (run, run.with_name("the other worker's"))
    ]
    for one in both:
        ended(one)
    assert exported(run.with_name("the other worker's")) == made.expected


def by_four_ray_workers(made: Made, run: Path) -> None:
    if not os.environ.get("ADJUDGE_SCALE"):
        pytest.skip("starts a Ray cluster: make test-scale")
    pytest.importorskip("ray", reason="needs Ray: make test-scale")
    ended(started(made, run, "--on", "ray", "--workers", "4"))


def started(made: Made, run: Path, *more: str) -> subprocess.Popen[bytes]:
    code = CODE.format(paths=sys.path, file=str(made.file.path), run=str(run), more=more)
    return subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )


def ended(process: subprocess.Popen[bytes]) -> None:
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()


@pytest.mark.parametrize(
    "judge", [in_batches, in_segments, by_two_postgres_workers, by_four_ray_workers]
)
def test_every_way_of_judging_exports_the_same_bytes(
    made: Made, judge: Callable[[Made, Path], None]
) -> None:
    made.provider.requests.clear()
    made.provider.batches.clear()
    run = made.folder / judge.__name__
    judge(made, run)
    asked = len(made.provider.requests) + sum(len(batch.lines) for batch in made.provider.batches)
    assert asked == VOTES * ROWS
    assert run_info(run).state == "complete"
    assert exported(run) == made.expected
    print(
        f"{judge.__name__}: {ROWS} rows, {VOTES * ROWS} votes, "
        f"{sum(map(len, made.expected))} bytes: the same"
    )
