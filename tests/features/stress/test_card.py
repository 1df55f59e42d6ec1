"""``adjudge card``: what a reader of a number should know of its judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge import AspectCritic, DirectJudge, Instance, PairwiseJudge
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.label import Label
from adjudge.features.stress.card import judge_cards
from adjudge.features.stress.card_report import judge_card_page
from adjudge.runs.folder import run_info
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.leanings import leanings_of
from support import commands
from support.labels import model
from support.trust import labelled, labels_of, population, run_of


def test_the_card_tells_the_question_the_identity_and_the_agreement(tmp_path: Path) -> None:
    rows = population(200)
    run = labelled(run_of(tmp_path / "run", rows), labels_of(rows[:60]))
    done = commands.adjudge("card", run)
    assert (done.returncode, done.stderr) == (0, "")
    assert run_info(run).identities["AspectCritic"] in done.stdout
    assert "The response gives a date" in done.stdout
    assert "corrected by 60 labels" in done.stdout
    assert "| kappa | 0." in done.stdout
    assert "- length: not measured: no labelled answer is twice as long as another" in done.stdout
    assert "- padding: not measured: that needs rows with a column padding" in done.stdout
    assert (
        "Agreement of judge and people on 60 rows drawn at random.\nAnnotators: 1 (human)."
        in done.stdout
    )  # and not in 1970
    assert "- order: not measured: judge with --check-positional-bias" in done.stdout


def test_without_labels_it_says_that_nothing_is_known(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", population(20))
    page, other = tmp_path / "card.md", tmp_path / "card.html"
    assert commands.adjudge("card", run, "-o", page, "-o", other).returncode == 0
    assert "<html" in other.read_text(encoding="utf-8")
    assert "Not measured, because no row of this run is labelled" in page.read_text(
        encoding="utf-8"
    )


HOSTILE = "Is it <img src=x onerror=alert(1) > fine?"


@pytest.mark.parametrize(
    "words",
    [
        ("report", "{run}", "--to", "md"),
        ("report", "{run}", "--to", "github"),
        ("report", "{run}", "--to", "junit"),
        ("export", "{run}", "--to", "csv"),
        ("export", "{run}", "--to", "jsonl"),
        ("export", "{run}", "--to", "md"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("name", ["x.html", "x.HTM", "x.svg"])
def test_what_is_no_page_is_not_written_as_one(
    tmp_path: Path, words: tuple[str, ...], name: str
) -> None:
    """Markdown in an HTML file: a browser ran what stood in the question of somebody's run."""
    AspectCritic(HOSTILE, model(lambda _: "PASS"), name="x").evaluate(
        [HOSTILE], run=tmp_path / "run"
    )
    done = commands.adjudge(
        *(one.format(run=tmp_path / "run") for one in words), "-o", tmp_path / name
    )
    assert done.returncode in (1, 2)
    assert "use another file ending" in done.stderr
    assert not (tmp_path / name).exists()


def test_a_card_as_a_page_holds_no_element_of_a_text(tmp_path: Path) -> None:
    AspectCritic(HOSTILE, model(lambda _: "PASS"), name="x").evaluate(
        [HOSTILE], run=tmp_path / "run"
    )
    assert commands.adjudge("card", tmp_path / "run", "-o", tmp_path / "x.html").returncode == 0
    assert "<img" not in (tmp_path / "x.html").read_text(encoding="utf-8")
    for name in ("x.HTM", "x.svg"):
        done = commands.adjudge("card", tmp_path / "run", "-o", tmp_path / name)
        assert done.returncode in (1, 2)
        assert "its name must end in .md or .html" in done.stderr
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    "words", [("report", "{run}", "--to", "html"), ("export", "{run}")], ids=" ".join
)
def test_a_page_shows_what_somebody_wrote_as_text(tmp_path: Path, words: tuple[str, ...]) -> None:
    AspectCritic(HOSTILE, model(lambda _: HOSTILE), name=HOSTILE).evaluate(
        [Instance({"response": HOSTILE}, HOSTILE)], run=tmp_path / "run"
    )
    page = tmp_path / "x.html"
    assert (
        commands.adjudge(
            *(one.format(run=tmp_path / "run") for one in words), "-o", page
        ).returncode
        == 0
    )
    assert "<img" not in page.read_text("utf-8") and "&lt;img" in page.read_text("utf-8")


def leanings(folder: Path) -> dict[str, str]:
    return {
        one.name: one.text for one in leanings_of(folder, next(iter(run_info(folder).identities)))
    }


def test_a_judge_of_pairs_that_goes_by_the_first_place_is_seen(tmp_path: Path) -> None:
    """It takes whatever it is shown first in all but each fifth row, where it is right; people find
    every second one better.
    """
    rows = [
        Instance({"response": [f"one {n}", f"the other {n}"], "user_input": f"q {n} q"})
        for n in range(40)
    ]

    def verdict(prompt: str) -> str:
        number = int(prompt.split("q ")[1].split(" q", maxsplit=1)[0])
        shown_first = prompt.index(f"one {number}") < prompt.index(f"other {number}")
        return "A" if number % 5 else "A" if shown_first == (number % 2 == 0) else "B"

    judge = PairwiseJudge(model(verdict), check_positional_bias=True)
    judge.evaluate(rows, Criteria("better", "Which is better?"), run=tmp_path / "run")
    found = leanings(tmp_path / "run")
    assert found["first place"] == (
        "the response shown first is picked in 0.900 of verdicts; half would be fair (0.796 to "
        "0.956; 40 pairs in both orders)"
    ), "a pair is one unit"
    assert (
        found["length"]
        == found["better shown first"]
        == "not measured, because it needs human labels"
    )
    LabelStore(tmp_path / "run").add(
        *(
            Label(row=row.identity, criteria="better", annotator="ann", winner=n % 2)
            for n, row in enumerate(rows)
        )
    )
    found = leanings(tmp_path / "run")
    assert found["better shown first"].startswith(
        "the better response is picked +0.800 more often if it is shown first (+0.6"
    )
    assert (
        found["length"].startswith("the judge picks the longer of two responses ")
        and "; 40 pairs)" in found["length"]
    )


def test_padding_length_and_halo_are_seen_where_rows_and_labels_allow_it(tmp_path: Path) -> None:
    """The judge passes what is long, by both criteria; people go by the number, and by its half."""
    criteria = [
        Criteria(
            name, f"How {name}?", [CriteriaOption("good", score=1), CriteriaOption("bad", score=0)]
        )
        for name in ("a", "b")
    ]
    plain = [Instance({"response": f"row {n}."}, f"r{n}") for n in range(16)]
    padded = [
        Instance({"response": f"row {n}. {'well ' * 20}", "padding_of": f"r{n}"}) for n in range(16)
    ]
    rows = [*plain, *padded]
    judge = DirectJudge(model(lambda prompt: "good" if "well" in prompt else "bad"))
    judge.evaluate(
        [row for row in rows for _ in criteria],
        [one for _ in rows for one in criteria],
        run=tmp_path / "run",
    )
    LabelStore(tmp_path / "run").add(
        *(
            Label(
                row=row.identity,
                criteria=name,
                annotator="ann",
                option=("good", "bad")[n // every % 2],
            )
            for name, every in (("a", 1), ("b", 2))
            for n, row in enumerate(rows)
        )
    )
    found = leanings(tmp_path / "run")
    assert found["padding"] == (
        "answers pass +1.000 more often once they are padded (+0.782 to +1.000; 32 answers)"
    ), "2 * 0.025 ** (1 / 32) - 1, on the scale of a difference, which begins at -1"
    assert found["length"].startswith("an answer twice as long gains +0.")
    assert (
        found["halo"]
        == "a and b go together by +1.00 more than in people's labels (correlation; 32 rows)"
    )
    lines = judge_card_page(judge_cards(tmp_path / "run")).splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.startswith("b: "))
    assert lines[place - 1] == "", "the second criterion is no part of the first one's last note"


def test_an_attack_on_another_model_is_not_put_on_the_card(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("response\n" + "".join(f"text {number}\n" for number in range(9)))
    asked = ("--criterion", "Does it give a date?", "-m")
    commands.adjudge(
        "judge", "--file", rows, *asked, "scripted/No", "--run", "judged", cwd=tmp_path
    )
    for run in ("No", "Yes"):
        put = ("--rows", rows, "--family", "instructions", "--run", run)
        done = commands.adjudge("attack", *put, *asked, f"scripted/{run}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    same = commands.adjudge("card", "judged", "--attack", "No", cwd=tmp_path)
    assert "No family of texts" in same.stdout
    other = commands.adjudge("card", "judged", "--attack", "Yes", cwd=tmp_path)
    assert other.returncode == 1 and "an attack on a different judge" in other.stderr
