"""Claims of public sets: read from repositories, changed by rule, kept apart from what is measured
with, and measured.
"""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy", reason="requirements/training.txt is not installed")

from training.claims import build  # noqa: E402
from training.claims.lookups import (  # noqa: E402
    CHUNK,
    chunks_of,
    lexical,
    load_lookups,
    save_lookups,
    sentences_of,
)
from training.claims.made import made  # noqa: E402
from training.claims.records import UNSUPPORTED, Answer, Claim, claim, fingerprint  # noqa: E402
from training.claims.repositories import MEASURED, TRAINED, Mirror, plain  # noqa: E402
from training.claims.rules import Rules  # noqa: E402
from training.mix import mix  # noqa: E402

from adjudge.features.evidence.support import CONTRADICTED, SUPPORTED  # noqa: E402

DOCUMENT = (
    "The bridge was opened in 1932 by Jack Lang. It carries eight lanes of traffic. "
    "In 2007, Anna Bligh ordered new lights for the north tower. Perth paid for the lights. "
    "Nobody was hurt while the work went on. The company said the bridge is safe for many years."
)


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    folder = tmp_path / "owner+name" / "repo"
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").write_text('{"a": 1}\nbroken\n{"a": 2}\n', encoding="utf-8")
    (folder / "rows.tsv").write_text('a\tb\n"one\ttwo\n', encoding="utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "rows"]):
        subprocess.run([*git, *command], check=True)
    return Mirror(tmp_path)


def test_files_are_read_as_they_were_committed(mirror: Mirror) -> None:
    (mirror.folder / "owner+name" / "repo" / "rows.jsonl").write_text("", encoding="utf-8")
    assert mirror.lines("owner/name", "rows.jsonl") == [{"a": 1}, {"a": 2}]
    assert mirror.table("owner/name", "rows.tsv", "\t") == [{"a": '"one', "b": "two"}]
    with pytest.raises(SystemExit, match="owner/name"):
        mirror.text("owner/name", "nothing")


def test_every_source_that_is_trained_on_has_a_licence() -> None:
    assert all(one.licence and one.commit for one in TRAINED)
    assert all(one.commit for one in MEASURED)


def test_tokens_become_plain_text() -> None:
    assert plain("He did n't go -LRB- at all -RRB- .") == "He didn't go (at all)."


def test_a_changed_sentence_says_something_else_and_a_reworded_one_is_another_text() -> None:
    rules = Rules(random.Random(1), ["Sydney Harbour"])
    said = "The company said the bridge was opened in 1932 by Jack Lang."
    wrong = {rules.wrong(said, DOCUMENT) for _ in range(40)}
    assert None not in wrong and said not in wrong and len(wrong) > 4
    assert any("was not opened" in str(one) for one in wrong)
    assert rules.in_other_words(said, 1.0).startswith("The firm stated")


def test_what_is_made_has_true_and_false_sentences_with_their_source() -> None:
    labelled = [
        claim("fever", DOCUMENT, "Jack Lang opened the bridge in 1932.", SUPPORTED),
        claim("fever", "Jack Lang was a politician of the north.", "Jack Lang was.", UNSUPPORTED),
    ]
    found = made(labelled, {"en": [DOCUMENT] * 30, "ru": []}, random.Random(2))
    supports = {one.support for one in found if one.source == "made"}
    assert {SUPPORTED, CONTRADICTED} <= supports
    assert all(one.fragments and one.sentence for one in found)
    assert any(one.source == "among" and len(one.fragments) > 1 for one in found)


def test_nothing_that_is_measured_with_is_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [
        claim("fever", f"Number {n}. {DOCUMENT}", f"Bridge number {n} is described.", SUPPORTED)
        for n in range(40)
    ]
    measured = [
        Answer(
            "set", f"Text of another document. {DOCUMENT}", "It is safe for 900 years now.", False
        )
    ]
    same = [
        claim("fever", "A short source.", "It is safe for 900 years now!", SUPPORTED),
        claim("fever", measured[0].document, "Some other sentence entirely.", SUPPORTED),
    ]
    monkeypatch.setattr(build, "labelled", lambda *_: [*others, *same])
    monkeypatch.setattr(build, "passages", lambda *_: [measured[0].document])
    trained, kept = build.claims(Mirror(Path()), measured, random.Random(0), random.Random(0))
    sentences = {fingerprint(one.sentence) for one in trained}
    assert trained and not sentences & {fingerprint(one.sentence) for one in kept}
    assert fingerprint(measured[0].text) not in sentences
    assert fingerprint(measured[0].document) not in {fingerprint(one.document) for one in trained}


@pytest.mark.parametrize("support", [SUPPORTED, CONTRADICTED, UNSUPPORTED])
def test_a_claim_is_asked_for_yes_or_no_or_with_three_options(support: str) -> None:
    one = claim("snli", "A man sleeps.", "A man is awake.", support)
    rows = [build._row(one, random.Random(seed)) for seed in range(60)]
    answers = {row.shown.answer for row in rows}
    assert answers == ({"yes_no"} if support == UNSUPPORTED else {"yes_no", "letter"})
    own = [row for row in rows if "Do the fragments say" in row.shown.prompt.text]
    yes = {row.made.case.truth for row in own if row.shown.answer == "yes_no"}
    assert yes == {"Yes" if support == SUPPORTED else "No"}


def test_answers_are_looked_up_sentence_by_sentence_in_chunks(tmp_path: Path) -> None:
    document = " ".join(f"word{n}" for n in range(CHUNK + 5))
    assert [len(chunk.split()) for chunk in chunks_of(document)] == [CHUNK, 5]
    assert sentences_of("It rains. It pours.") == ["It rains.", "It pours."]
    measured = [
        Answer("one", document, "It rains. It pours.", True),
        Answer("two", "It rains in Rome.", "It rains in Paris 7 times.", False),
    ]
    rows, lookups = build.look_up(measured)
    assert lookups.answer.tolist() == [0, 0, 0, 0, 1]
    assert lookups.sentence.tolist() == [0, 0, 1, 1, 2] and len(rows) == 5
    save_lookups(tmp_path / "lookups.npz", lookups)
    assert load_lookups(tmp_path / "lookups.npz").names.tolist() == ["one", "two"]
    words, rare, marked = lexical(measured)[1]
    assert words == pytest.approx(0.5) and 0 <= rare <= 1 and marked == pytest.approx(1 / 3)


def test_an_adapter_lies_between_two() -> None:
    one, other = ({"a": np.full((2, 3), value, np.float32)} for value in (0.0, 1.0))
    assert np.allclose(mix(one, [other], 0.25)["a"], 0.25)


def test_scores_are_means_of_the_best_chunks_and_auc_counts_ties_half() -> None:
    pytest.importorskip("torch", reason="requirements/training.txt is not installed")
    from training.claims.measure import answer_scores, auc, best_odds, flag_figures

    _, lookups = build.look_up([Answer("one", "a " * (CHUNK + 1), "It rains. It pours.", True)])
    best: Any = best_odds(lookups, np.arange(4), np.array([1.0, 3.0, -2.0, -4.0]))
    found: Any = answer_scores(lookups, best)
    assert found.tolist() == [0.5]
    flags = flag_figures(lookups, best)["all"]
    assert flags["look here, share"] == 1 and flags["look here, unsupported"] == 0
    values = np.array([0.0, 1.0, 1.0, 2.0], np.float32)
    assert auc(values, np.array([False, False, True, True])) == 0.875


def test_a_claim_knows_its_document() -> None:
    one = Claim("set", ("First.", "Second."), "Third.", SUPPORTED)
    assert one.document == "First.\nSecond." and one.supported
