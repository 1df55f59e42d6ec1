"""Rows that a judge learned from, and labels of models, say nothing about which run is right."""

from __future__ import annotations

import json
from pathlib import Path

from adjudge import AspectCritic
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.label import Label
from adjudge.core.ledger.file import FILE, connect, read_meta, write_meta
from support.labels import identity, model
from support.page import served
from support.trust import labelled

TEXTS = [f"text {number} ." for number in range(4)]


def _run(folder: Path, bad: set[int]) -> None:
    def verdict(prompt: str) -> str:
        return "FAIL" if any(f"text {number} ." in prompt for number in bad) else "PASS"

    AspectCritic("Early?", model(verdict), name="early").evaluate(
        [Instance({"response": text}, f"r{number}") for number, text in enumerate(TEXTS)],
        run=folder,
    )


def test_rows_that_a_judge_learned_from_are_counted_apart(tmp_path: Path) -> None:
    _run(tmp_path / "one", set())
    _run(tmp_path / "two", {0, 1, 2})
    labels = [
        Label(row=identity(TEXTS[number]), criteria="early", annotator="ann", option="FAIL")
        for number in (0, 1)
    ]
    labels.append(
        Label(
            row=identity(TEXTS[2]), criteria="early", annotator="gpt", option="FAIL", kind="model"
        )
    )
    labelled(tmp_path / "two", labels)
    with served(tmp_path) as page:
        address = f"/compare?a={page.run('one')[5:]}&b={page.run('two')[5:]}"
        data = page.data(address)
        assert (data["counts"]["only_b_right"], data["learned"]) == (2, 0), "models are not people"
        with connect(tmp_path / "two" / FILE) as ledger:
            configuration = json.loads(json.dumps(read_meta(ledger)["configuration"]))
            (judge,) = configuration["judges"].values()
            for settings in judge["models"].values():
                settings["learned_rows"] = [identity(TEXTS[0])]
            write_meta(ledger, {"configuration": configuration})
        data = page.data(f"{address}&anyway=1")
        assert (data["counts"]["only_b_right"], data["learned"]) == (1, 1)
        assert "a judge learned from its label" in page.get(f"{address}&anyway=1").text


def test_the_queue_that_teaches_says_that_half_of_it_counts(tmp_path: Path) -> None:
    _run(tmp_path / "one", {1})
    with served(tmp_path) as page:
        address = f"{page.run('one')}/label?annotator=ann&queue="
        assert page.data(f"{address}learn")["work"]["counts"]
        assert "About half of these rows are drawn at random" in page.get(f"{address}learn").text
        assert not page.data(f"{address}disagreement")["work"]["counts"]
