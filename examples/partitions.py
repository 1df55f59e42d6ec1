"""One eval file, judged by two processes, and merged into an ordinary run folder.

python examples/partitions.py [model]
"""

import csv
import sys
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from tempfile import TemporaryDirectory

from adjudge import judge_partition, load_run, merge_partitions

ROWS = Path(__file__).parent / "answers.csv"
EVAL = """data: {rows}
models: {model}
judges: [{{kind: direct, criteria: politeness}}]
"""


def main(model: str) -> None:
    """Partitions of two rows each."""
    with TemporaryDirectory() as folder:
        file, store, run = (Path(folder) / name for name in ("eval.yaml", "partitions", "run"))
        file.write_text(EVAL.format(rows=ROWS.absolute(), model=model))
        with ROWS.open(newline="", encoding="utf-8") as text:
            rows = list(enumerate(csv.DictReader(text)))
        with Pool(2) as pool:
            judged = pool.map(
                partial(judge_partition, eval_file=file, store=store, share=2),
                [rows[start : start + 2] for start in range(0, len(rows), 2)],
                1,
            )
        merged = merge_partitions(store, run)
        print(f"{len(judged)} partitions, {merged.judgments} judgments, {load_run(run).info.state}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "local/smollm2-135m")
