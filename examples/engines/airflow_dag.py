"""A DAG of Airflow with a task for each part of a Parquet file.

A task that Airflow starts again asks only for what it was not answered. Put ``part.py`` beside this
file, and say in the environment of the workers where things lie.
"""

import os

from airflow.sdk import dag, task
from part import judge_part

PARTS = int(os.environ.get("JUDGE_PARTS", "8"))


@dag(schedule=None, catchup=False)
def judge_answers() -> None:
    """All parts, as many at once as the pool allows."""
    places = {
        name: os.environ.get(f"JUDGE_{name.upper()}", "")
        for name in ("eval_file", "answers", "store", "out")
    }
    task(judge_part, retries=3).partial(**places, parts=PARTS).expand(part=list(range(PARTS)))


judge_answers()
