"""Answers that Dask reads, judged where its workers are.

    python dask_job.py ANSWERS.parquet EVAL STORE RUN

The scheduler is that of DASK_SCHEDULER_ADDRESS, or one on this machine. The store, and the eval
file, are seen by all workers: a shared folder or a bucket.
"""

import sys
from itertools import accumulate
from typing import Any

import dask
import dask.dataframe
from distributed import Client

from adjudge import judge_partition, merge_partitions


def judge(rows: Any, start: int, eval_file: str, store: str, share: int) -> int:
    """One partition, a data frame whose first row is the ``start``th of all."""
    numbered = enumerate(rows.to_dict("records"), start)
    return judge_partition(numbered, eval_file, store, share=share).rows


if __name__ == "__main__":
    answers, eval_file, store, run = sys.argv[1:]
    with Client() as client:
        frame = dask.dataframe.read_parquet(answers, split_row_groups=True)
        starts = accumulate(frame.map_partitions(len).compute(), initial=0)
        share = sum(client.nthreads().values())
        parts = [
            dask.delayed(judge)(part, start, eval_file, store, share)
            for part, start in zip(frame.to_delayed(), starts, strict=False)
        ]
        judged = sum(dask.compute(*parts))
    merge_partitions(store, run)
    print(judged, "rows")
