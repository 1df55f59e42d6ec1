"""The recipes for engines that people have, run as a user runs them; killed in the middle, they
lose nothing that was kept, and ask for nothing twice that was.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp

import pytest
import yaml

from adjudge.features.scale.stores.segments import SegmentStore
from adjudge.features.scale.stores.store import StoredVote
from adjudge.runs.exporters.export import flat_rows
from support.fake_provider import KEY, FakeProvider
from support.stores import bucket, postgres_server

RECIPES = Path(__file__).parents[2] / "examples" / "engines"
ROWS, GROUP = 24, 4
PATIENCE = 900
"""Seconds: an engine starts slowly on a busy machine."""


@dataclass
class Work:
    """Answers in a Parquet file, an eval file, and a server that judges."""

    folder: Path
    provider: FakeProvider
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def answers(self) -> str:
        return str(self.folder / "answers.parquet")

    @property
    def eval_file(self) -> str:
        return str(self.folder / "eval.yaml")

    @property
    def store(self) -> str:
        return str(self.folder / "store")

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        paths = os.pathsep.join([str(RECIPES), *(one for one in sys.path if one)])
        return subprocess.Popen(
            words,
            env={
                **os.environ,
                "PYTHONPATH": paths,
                "OPENAI_API_KEY": KEY,
                "ADJUDGE_CACHE": mkdtemp(dir=self.folder),
                "PYSPARK_PYTHON": sys.executable,
                "PYSPARK_SUBMIT_ARGS": "--conf spark.ui.enabled=false pyspark-shell",
                "SPARK_LOCAL_IP": "127.0.0.1",
                "DASK_DISTRIBUTED__WORKER__DAEMON": "true",
                **self.variables,
                **variables,
            },
            cwd=self.folder,
            start_new_session=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def carry_out(self, *words: str, **variables: str) -> str:
        process = self.start(*words, **variables)
        out, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said[-3000:]
        return out

    def kill_in_the_middle(self, *words: str, **variables: str) -> None:
        """When some answers are kept and some are not."""
        process = self.start(*words, **variables)
        until = time.monotonic() + PATIENCE
        while not self.kept() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        _, said = process.communicate()
        assert 0 < self.kept() < ROWS, said[-3000:]

    def kept(self) -> int:
        """Votes in the store, whatever parts it has."""
        begun = list(Path(self.store).rglob("store.json"))
        found = chain.from_iterable(SegmentStore(one.parent).records() for one in begun)
        return len({one.values[0] for one in found if isinstance(one, StoredVote)})


@pytest.fixture
def work(tmp_path: Path, provider: FakeProvider) -> Work:
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow: make test-engines")
    from pyarrow import parquet

    answers = [f"REC-{n:05}-{'Y' if n % 3 else 'N'}" for n in range(ROWS)]
    table = pa.table({"id": [str(n) for n in range(ROWS)], "answer": answers})
    parquet.write_table(table, tmp_path / "answers.parquet", row_group_size=GROUP)
    at = f"base_url: {provider.base_url('openai')}, max_concurrency: 1"
    model = f"{{model: openai/gpt-4o-mini, {at}}}"
    judge = "{kind: aspect, criteria: The mark must end in Y.}"
    text = f"data: answers.parquet\nmodels: [{model}]\njudges: [{judge}]\n"
    (tmp_path / "eval.yaml").write_text(text)
    (tmp_path / "out").mkdir()
    return Work(tmp_path, provider)


def verdicts(rows: Iterator[Mapping[str, object]]) -> dict[object, object]:
    found = [(one["id"], one["score"]) for one in rows]
    assert len(dict(found)) == len(found)
    return dict(found)


EXPECTED = {str(n): float(n % 3 > 0) for n in range(ROWS)}


def in_files(files: Sequence[Path]) -> dict[object, object]:
    from pyarrow import parquet

    return verdicts(iter([row for file in files for row in parquet.read_table(file).to_pylist()]))


@pytest.mark.parametrize(
    ("package", "recipe"), [("pyspark", "spark_job.py"), ("distributed", "dask_job.py")]
)
def test_an_engine_killed_in_the_middle_goes_on(work: Work, package: str, recipe: str) -> None:
    pytest.importorskip(package, reason=f"needs {package}: make test-engines")
    words = (sys.executable, str(RECIPES / recipe), work.answers, work.eval_file, work.store)
    run = work.folder / "run"
    work.provider.latency = 0.4
    work.kill_in_the_middle(*words, str(run))
    work.provider.latency, kept = 0.0, work.kept()
    time.sleep(1)
    asked = len(work.provider.requests)
    assert f"{ROWS} rows" in work.carry_out(*words, str(run))
    assert len(work.provider.requests) - asked <= ROWS - kept  # replies may be cached besides
    assert verdicts(flat_rows(run)) == EXPECTED


def jobs() -> list[dict[str, object]]:
    return list(yaml.safe_load_all((RECIPES / "kubernetes.yaml").read_text()))


def container(job: Mapping[str, object]) -> tuple[list[str], dict[str, str], int]:
    """The command, the variables that it reads, and how many pods there are."""
    match job:
        case {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "spec": {
                "completionMode": "Indexed",
                "completions": int(count),
                "backoffLimitPerIndex": int(),
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"command": [*command], "args": [*words], "env": [*env]}],
                    }
                },
            },
        }:
            return [*command, *words], {one["name"]: one["value"] for one in env}, count
    raise AssertionError(job)


def pods(work: Work, job: Mapping[str, object], **places: str) -> list[subprocess.Popen[str]]:
    """One process for each index, by the command of the manifest."""
    command, given, count = container(job)
    assert given.keys() == places.keys()
    bin = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    here = f"cd {RECIPES} && {command[-1]}"
    return [
        work.start(*command[:-1], here, **places, PATH=bin, JOB_COMPLETION_INDEX=str(index))
        for index in range(count)
    ]


def ended(processes: list[subprocess.Popen[str]]) -> None:
    for one in processes:
        _, said = one.communicate(timeout=PATIENCE)
        assert one.returncode == 0, said[-3000:]


def test_the_indexed_job_writes_parquet_without_a_driver(work: Work) -> None:
    job, _ = jobs()
    out = work.folder / "out"
    places = {
        "EVAL": work.eval_file,
        "ANSWERS": Path(work.answers).as_uri(),
        "STORE": work.store,
        "OUT": str(out),
    }
    work.provider.latency = 0.4
    first = pods(work, job, **places)
    until = time.monotonic() + PATIENCE
    while not work.kept() and time.monotonic() < until:
        time.sleep(0.05)
    for one in first:
        os.killpg(one.pid, signal.SIGKILL)
        one.communicate()
    assert 0 < (kept := work.kept()) < ROWS and not list(out.iterdir())
    work.provider.latency = 0.0
    time.sleep(1)
    asked = len(work.provider.requests)
    ended(pods(work, job, **places))
    assert len(work.provider.requests) - asked <= ROWS - kept  # replies may be cached besides
    assert len(files := list(out.iterdir())) == 4
    assert in_files(files) == EXPECTED


def test_the_indexed_job_works_in_a_bucket(work: Work) -> None:
    place = f"{bucket()}/job"
    from adjudge.core.reading.objects import ObjectFile

    ObjectFile(f"{place}/answers.parquet").replace_by(Path(work.answers))
    job, _ = jobs()
    names = {"STORE": "store", "OUT": "out", "ANSWERS": "answers.parquet"}
    places = {name: f"{place}/{one}" for name, one in names.items()}
    ended(pods(work, job, EVAL=work.eval_file, **places))
    files = [work.folder / f"part-{n}.parquet" for n in range(4)]
    for n, file in enumerate(files):
        file.write_bytes(ObjectFile(f"{place}/out/part-{n:05}.parquet").read_bytes())
    assert in_files(files) == EXPECTED
    assert len(work.provider.requests) == ROWS


def test_the_indexed_job_shares_its_rows_by_postgres(work: Work) -> None:
    url = f"{postgres_server()}#job"
    _, job = jobs()
    command, _, count = container(job)
    places = {"EVAL": work.eval_file, "ANSWERS": work.answers, "STORE": url, "OUT": "out"}
    started = []
    for index in range(count):
        own = command[-1].replace("/tmp/run", f"run-{index}")
        bin = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own_index = {"JOB_COMPLETION_INDEX": str(index), "PATH": bin}
        started.append(work.start(*command[:-1], own, **places, **own_index))
    ended(started)
    for index in range(count):
        assert in_files([work.folder / "out" / f"results-{index}.parquet"]) == EXPECTED
    assert len(work.provider.requests) == ROWS


def test_a_task_of_airflow_judges_its_part(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(RECIPES)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    judge_part = import_module("part").judge_part

    out = work.folder / "out"
    for _ in ("once", "again"):
        rows = [
            judge_part(work.eval_file, work.answers, work.store, str(out), part, 2)
            for part in range(2)
        ]
        assert sum(rows) == ROWS
    assert in_files(sorted(out.iterdir())) == EXPECTED
    assert len(work.provider.requests) == ROWS


def test_airflow_reads_the_dag(work: Work) -> None:
    pytest.importorskip("airflow", reason="needs Airflow: make test-engines")
    code = """if True:
        import runpy, sys
        found = runpy.run_path(sys.argv[1])
        (task,) = found["judge_answers"]().tasks
        print(task.task_id, task.retries, sorted(task.op_kwargs_expand_input.value),
              sorted(task.partial_kwargs["op_kwargs"]))
    """
    said = work.carry_out(
        *(sys.executable, "-c", code, str(RECIPES / "airflow_dag.py")),
        AIRFLOW_HOME=str(work.folder / "airflow"),
        JUDGE_PARTS="3",
    )
    line = said.strip().splitlines()[-1]
    assert line == "judge_part 3 ['part'] ['answers', 'eval_file', 'out', 'parts', 'store']"


def test_a_warehouse_gets_its_verdicts_back(work: Work) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs DuckDB: make test-engines")
    (work.folder / "shop").mkdir()
    database = str(work.folder / "shop" / "shop.duckdb")
    with duckdb.connect(database) as warehouse:
        warehouse.execute(f"CREATE TABLE answers AS FROM '{work.answers}' LIMIT 20")
    words = (sys.executable, str(RECIPES / "warehouse.py"), database, work.eval_file)
    assert "20 rows" in work.carry_out(*words)
    with duckdb.connect(database) as warehouse:
        warehouse.execute(f"INSERT INTO answers (FROM '{work.answers}' OFFSET 20)")
    assert f"{ROWS} rows" in work.carry_out(*words)
    assert len(work.provider.requests) == ROWS
    with duckdb.connect(database) as warehouse:
        found = dict(warehouse.execute("SELECT id, score FROM verdicts").fetchall())
    assert found == EXPECTED
