"""Judging one row: data, models, prompts, verdicts, pooling, the ledger and the judges."""
