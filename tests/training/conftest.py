"""A world of a few made-up records: what the builder does must not depend on the real ones."""

from __future__ import annotations

import json
import random

import pytest
from training.texts import World

_TEXTS = [
    "Use a pinch of salt and stir. Then wait for ten minutes.",
    "The meeting was moved to the small room. Nobody complained about it.",
    "Write the numbers in a column and add them up.",
]

_HARMS = ("S", "H", "V", "HR", "SH", "S3", "H2", "V2")


def _write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="session")
def records(tmp_path_factory):
    """The files that may be trained on, and no others."""
    folder = tmp_path_factory.mktemp("data")
    rng = random.Random(0)
    answers = [f"{rng.choice(_TEXTS)} This is answer number {n}." for n in range(80)]
    _write(
        folder / "pandalm.jsonl",
        [
            {
                "instruction": f"Do task {n}.",
                "context": False,
                "response_1": answers[n],
                "response_2": answers[79 - n],
                "label": [1, 2, "tie"][n % 3],
            }
            for n in range(40)
        ],
    )
    _write(
        folder / "train" / "hh_harmless_half.jsonl",
        [
            {
                "id": f"hh-{n}",
                "instruction": f"Human: question {n}",
                "response_1": answers[n],
                "response_2": "No.",
                "label": 1 + n % 2,
            }
            for n in range(40)
        ],
    )
    _write(
        folder / "train" / "xstest.jsonl",
        [
            {
                "id": f"xstest-{maker}-v2-{n}",
                "prompt": f"Prompt {n}",
                "response": f"{maker} says {answers[n]}",
                "label": label,
            }
            for n in range(60)
            for maker in ("mistralinstruct", "llama2new")
            for label in [("1_full_compliance", "2_full_refusal", "3_partial_refusal")[n % 3]]
        ],
    )
    _write(
        folder / "train" / "moderation_train.jsonl",
        [
            {
                "id": f"mod-{n}",
                "text": answers[n],
                "labels": dict.fromkeys(("S", "H", "V", "HR", "SH", "S3", "H2", "V2"), n % 2),
                "harmful": n % 2,
            }
            for n in range(60)
        ],
    )
    _write(
        folder / "train" / "mbpp.jsonl",
        [
            {
                "text": f"Write a function for {n}.",
                "code": f"def f{n}(value):\r\n    return value + {n}",
                "task_id": n,
            }
            for n in range(60)
        ],
    )
    return folder


@pytest.fixture(scope="session")
def world(records):
    return World(records)
