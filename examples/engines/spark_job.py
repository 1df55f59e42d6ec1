"""Answers that Spark reads, judged where its executors are.

    spark-submit spark_job.py ANSWERS.parquet EVAL STORE RUN

The store, and the eval file, are seen by all executors: a shared folder or a bucket.
"""

import sys
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from adjudge import judge_partition, merge_partitions

if __name__ == "__main__":
    answers, eval_file, store, run = sys.argv[1:]
    spark = SparkSession.builder.appName("adjudge").getOrCreate()
    rows = spark.read.parquet(answers).rdd.zipWithIndex()
    share = min(spark.sparkContext.defaultParallelism, rows.getNumPartitions())

    def judge(rows: Iterator[Any]) -> Iterator[int]:
        """For mapPartitions."""
        numbered = ((number, row.asDict()) for row, number in rows)
        yield judge_partition(numbered, eval_file, store, share=share).rows

    judged = sum(rows.mapPartitions(judge).collect())
    merge_partitions(store, run)
    print(judged, "rows")
