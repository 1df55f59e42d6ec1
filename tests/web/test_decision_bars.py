"""The probabilities of a decision model on the page."""

from __future__ import annotations

from pathlib import Path

from adjudge import AspectCritic, open_model
from support.decision_server import serving
from support.page import served


def test_a_vote_shows_the_probability_of_each_option(tmp_path: Path) -> None:
    with serving() as server:
        critic = AspectCritic("It is kind.", open_model(f"systemone:{server.url}#fake-1"))
        critic.evaluate(["Hello."], run=tmp_path / "kind")
    with served(tmp_path) as page:
        row = f"{page.run('kind')}/row/1"
        (vote,) = page.data(row)["chosen"]["votes"]
        text = page.get(row).text
    assert [name for name, _ in vote["bars"]] in (["PASS", "FAIL"], ["FAIL", "PASS"])
    assert sum(share for _, share in vote["bars"]) == 1
    assert vote["prompt"]["checked"] is True
    assert "No explanation, because decision models generate no text." in text
