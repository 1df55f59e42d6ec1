"""A run in the formats of others: CSV, JSONL, Parquet, JUnit, GitHub, other tools."""
