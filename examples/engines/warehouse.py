"""Rows of a SQL warehouse, judged, and their verdicts back in it: Parquet out, Parquet in.

    python warehouse.py DATABASE EVAL

DuckDB stands for any engine that reads and writes Parquet: COPY and CREATE TABLE are Snowflake's
COPY INTO, BigQuery's EXPORT DATA and LOAD DATA, Redshift's UNLOAD and COPY. The table ``answers``
is judged, and ``verdicts`` is written anew. Started again, it asks only for what is new.
"""

import subprocess
import sys
from pathlib import Path

import duckdb

if __name__ == "__main__":
    database, eval_file = sys.argv[1:]
    place = Path(database).absolute().parent
    answers, verdicts, run = place / "answers.parquet", place / "verdicts.parquet", place / "run"
    with duckdb.connect(database) as warehouse:
        warehouse.execute(f"COPY (FROM answers ORDER BY id) TO '{answers}' (FORMAT parquet)")
    words = ["run", eval_file, "--data", answers, "--run", run, "-o", verdicts, "--yes", "--quiet"]
    subprocess.run([sys.executable, "-m", "adjudge", *words], check=True)  # noqa: S603
    with duckdb.connect(database) as warehouse:
        warehouse.execute(f"CREATE OR REPLACE TABLE verdicts AS FROM '{verdicts}'")
        print(warehouse.execute("SELECT count(*) FROM verdicts").fetchone()[0], "rows")
