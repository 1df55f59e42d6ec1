"""One part of a Parquet file, judged by one process of many: Parquet in, Parquet out, no driver.

    python part.py EVAL ANSWERS.parquet STORE OUT PART PARTS

Files and folders may be addresses (s3://…); OUT is a folder that is there. Part 2 of 8 takes the
row groups 2, 10, 18 and so on, keeps every answer in STORE/00002 and writes OUT/part-00002.parquet
at its end. Started again, on whatever machine, it asks only for what the store has no answer to.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyarrow.parquet import ParquetFile

from adjudge import judge_partition, merge_partitions
from adjudge.core.reading.objects import location_of
from adjudge.runs.exporters.export import export


def judge_part(eval_file: str, answers: str, store: str, out: str, part: int, parts: int) -> int:
    """How many rows the part has."""
    own = f"{store}/{part:05}"
    with location_of(answers, Path()).open("rb") as file:
        rows = numbered_rows(ParquetFile(file), part, parts)
        judged = judge_partition(rows, eval_file, own, share=parts)
    if judged.rows:
        with TemporaryDirectory() as folder:
            merge_partitions(own, f"{folder}/run")
            export(f"{folder}/run", f"{out}/part-{part:05}.parquet")
    return judged.rows


def numbered_rows(file: ParquetFile, part: int, parts: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Those of every so manieth row group, each with its place in the whole file."""
    number = 0
    for group in range(file.num_row_groups):
        if group % parts != part:
            number += file.metadata.row_group(group).num_rows
            continue
        for batch in file.iter_batches(batch_size=1000, row_groups=[group]):
            yield from enumerate(batch.to_pylist(), number)
            number += batch.num_rows


if __name__ == "__main__":
    *places, part, parts = sys.argv[1:]
    print(judge_part(*places, int(part), int(parts)), "rows")
