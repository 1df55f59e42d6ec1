"""Texts with many copies: counted apart, and bounded if nobody labelled them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import AspectCritic
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.label import Label
from adjudge.core.domain.results import Result
from adjudge.errors import SetupError
from adjudge.stats.correction import corrected_mean, with_rows_apart
from adjudge.stats.estimate import Estimate, undefined
from adjudge.trust import Calibration, calibrate
from adjudge.trust.calibration import CalibrationSettings
from adjudge.trust.large_texts import least_apart
from support import commands
from support.labels import identity, judged, model
from support.trust import labelled

THESE_ROWS = CalibrationSettings(agreement=None, these_rows=True)
Text = tuple[str, int]
"""A text, which holds what the judge (J) and people (T) say of it, and how many rows have it."""
CANNED: list[Text] = [
    ("Sorry. J=FAIL T=FAIL", 60),
    *((f"{n} J=FAIL T={'PASS' if n % 2 else 'FAIL'}", 1) for n in range(20)),
    *((f"{n} J=PASS T={'PASS' if n % 10 else 'FAIL'}", 1) for n in range(20, 140)),
]
CANNED_SHARE = (10 + 108) / 200
HALF_YES: list[Text] = [
    ("yes J=PASS T=PASS", 100),
    *((f"{n} J=PASS T={'PASS' if n % 2 else 'FAIL'}", 1) for n in range(100)),
]
OFTEN = CalibrationSettings(agreement=None, sequential=True)
DRAWS = 40


def verdict(prompt: str) -> str:
    return "PASS" if "J=PASS" in prompt else "FAIL"


def judge(texts: Sequence[Text]) -> Sequence[Result]:
    rows = [text for text, count in texts for _ in range(count)]
    critic = AspectCritic("Is it good?", model(verdict), name="dates")
    return critic.evaluate([Instance({"response": text}, f"r{n}") for n, text in enumerate(rows)])


def draw(texts: Sequence[Text], count: int, seed: int) -> list[str]:
    """Return texts as the queue draws them: each once, whatever copies it has."""
    return random.Random(seed).sample([text for text, _ in texts], count)


def label(text: str, rows: int = 200, **values: object) -> Label:
    known: dict[str, object] = {
        "row": identity(text),
        "criteria": "dates",
        "annotator": "ann",
        "option": "PASS" if "T=PASS" in text else "FAIL",
        "design": "random",
        "seed": 1,
        "drawn_of": rows,
    }
    return Label(**{**known, **values})  # type: ignore[arg-type]


def holds(one: Estimate | None, share: float) -> bool:
    assert one is not None and one.lower is not None and one.upper is not None
    assert one.value is None or one.lower <= one.value <= one.upper
    return one.lower - 1e-9 <= share <= one.upper + 1e-9


def test_a_text_that_was_not_drawn_may_be_anything() -> None:
    """One canned reply is 60 of 200 rows. Without it, 0.855 (0.752 to 0.926) came of labels whose
    rows are 0.59 good.
    """
    results = judge(CANNED)
    drawn = [text for text in draw(CANNED, 70, seed=3) if text != CANNED[0][0]]
    found = calibrate(results, map(label, drawn), settings=THESE_ROWS)
    assert (
        "60 rows are copies of one text that was not drawn; the intervals allow for any value of "
        "them"
    ) in map(str, found.notes)
    for one in (found.corrected, found.labels_only):
        assert holds(one, CANNED_SHARE)
        assert one is not None and (one.width or 0) > 0.3
    drawn.append(CANNED[0][0])
    found = calibrate(results, map(label, drawn), settings=THESE_ROWS)
    assert not any("not drawn" in note for note in found.notes)
    for one in (found.corrected, found.labels_only):
        assert holds(one, CANNED_SHARE)
        assert one is not None and (one.width or 1) < 0.2
    like_these = calibrate(
        results, map(label, drawn), settings=replace(THESE_ROWS, these_rows=False)
    )
    assert like_these.corrected is not None and found.corrected is not None
    assert (like_these.corrected.width or 0) > (found.corrected.width or 1) + 0.02


@pytest.mark.parametrize(
    ("texts", "count", "share"),
    [
        pytest.param(CANNED, 90, CANNED_SHARE, id="one text is 30%"),
        pytest.param(
            [
                *((f"yes {n} J=PASS T=PASS", 20) for n in range(5)),
                *((f"{n} J=PASS T={'PASS' if n % 2 else 'FAIL'}", 1) for n in range(100)),
            ],
            50,
            0.75,
            id="five texts of 20 rows",
        ),
    ],
)
def test_intervals_hold_the_share_of_rows_with_many_copies(
    texts: list[Text], count: int, share: float
) -> None:
    """One text with 30% of the rows: 0.69 and 0.62 of intervals at 95% held it before."""
    results, held = judge(texts), [0, 0]
    for seed in range(DRAWS):
        found = calibrate(results, map(label, draw(texts, count, seed)), settings=THESE_ROWS)
        held[0] += holds(found.corrected, share)
        held[1] += holds(found.labels_only, share)
    assert min(held) >= 0.9 * DRAWS


def test_a_skipped_text_is_as_open_as_one_that_was_not_drawn() -> None:
    results = judge(HALF_YES)
    given = [label(text) for text, _ in HALF_YES[1:]]

    def limits(canned: Label) -> tuple[Calibration, float, float]:
        found = calibrate(results, [canned, *given], settings=replace(THESE_ROWS, these_rows=False))
        assert found.corrected is not None
        return found, found.corrected.lower or 0, found.corrected.upper or 0

    known, low, high = limits(label(HALF_YES[0][0]))
    skipped, lowest, highest = limits(label(HALF_YES[0][0], state="skipped", option=None))
    assert skipped.skipped == 100 and lowest < low and highest >= high
    assert 0.65 < low < 0.75 < high < 0.85
    assert lowest < 0.25 and known.labels_only.lower == pytest.approx(low, abs=0.02)


def test_limits_at_every_look_are_of_rows_as_their_value_is() -> None:
    """Half of the rows are one good text, half of the others are good. Each text counted once in
    the limits and each row in the value: 0.750 between 0.344 and 0.666.
    """
    results = judge(HALF_YES)
    found = calibrate(results, [label(text) for text, _ in HALF_YES], settings=OFTEN)
    for one in (found.corrected, found.labels_only):
        assert holds(one, 0.75)
        assert one is not None and one.value == pytest.approx(0.75)
        assert one.count == 101 and (one.width or 1) < 0.3
    without = calibrate(results, [label(text) for text, _ in HALF_YES[1:61]], settings=OFTEN)
    for one in (without.corrected, without.labels_only):
        assert holds(one, 0.75) and holds(one, 0.25)
    assert any(
        "99 rows are copies of one text that was not drawn" in note for note in without.notes
    )
    skipped = label(HALF_YES[0][0], state="skipped", option=None)
    rest = [label(text) for text, _ in HALF_YES[1:61]]
    open_text = calibrate(results, [skipped, *rest], settings=OFTEN)
    assert holds(open_text.corrected, 0.25) and holds(open_text.labels_only, 0.25)
    assert not any("not drawn" in note for note in open_text.notes)


def test_limits_at_every_look_hold_the_share_of_rows_with_copies() -> None:
    """0.52 of the corrected intervals and none of the labels alone held it before."""
    texts: list[Text] = [(f"yes {n} J=PASS T=PASS", 10) for n in range(10)] + HALF_YES[1:]
    results, held = judge(texts), [0, 0]
    for seed in range(DRAWS):
        found = calibrate(results, map(label, draw(texts, 100, seed)), settings=OFTEN)
        held[0] += holds(found.corrected, 0.75)
        held[1] += holds(found.labels_only, 0.75)
    assert min(held) >= 0.95 * DRAWS


def test_trials_of_a_task_have_no_limits_for_every_look() -> None:
    """The upper limit for every look, 0.754, was below that for one look, 0.921."""
    critic = AspectCritic("Is it good?", model(verdict), name="dates")
    rows: list[JsonDict] = [
        {"response": f"{n} J=PASS", "task_id": f"t{n // 3}", "trial": n % 3} for n in range(90)
    ]
    results = critic.evaluate(rows)
    labels = [label("", row=one.instance.identity, rows=90) for one in results[:60]]
    with pytest.raises(SetupError, match=r"rows that count as one \(trials of a task"):
        calibrate(results, labels, settings=OFTEN)
    assert calibrate(results, labels, settings=replace(OFTEN, sequential=False)).corrected


def test_a_slice_of_copies_has_the_value_of_their_label() -> None:
    texts = [*CANNED[1:], ("Sorry. J=FAIL T=FAIL", 60)]
    rows = [text for text, count in texts for _ in range(count)]
    critic = AspectCritic("Is it good?", model(verdict), name="dates")
    results = critic.evaluate(
        [
            Instance({"response": text, "kind": "canned" if "Sorry" in text else "free"}, f"r{n}")
            for n, text in enumerate(rows)
        ]
    )
    by_text = {str(one.instance.fields["response"]): one.instance.identity for one in results}
    labels = [label(text, row=by_text[text]) for text, _ in texts[::-1][:90]]
    found = calibrate(results, labels, settings=replace(THESE_ROWS, by="kind"))
    assert found.slices is not None
    canned = next(one for one in found.slices.slices if one.name == "canned")
    assert canned.rows == 60 and canned.naive == 0.0


def test_calibrate_names_the_rows_of_a_text_that_was_not_drawn(tmp_path: Path) -> None:
    rows = [text for text, count in CANNED for _ in range(count)]
    run = labelled(
        judged(tmp_path / "run", rows, verdict), [label(text) for text, _ in CANNED[11:81]]
    )
    shown = commands.adjudge("calibrate", run, "--these-rows").stdout
    assert "60 rows are copies of one text that was not drawn" in shown
    assert "rows belong together" in shown  # no plan of further labels


@pytest.mark.parametrize(
    ("sizes", "of_labelled", "rows", "drawn", "least"),
    [
        ([60], [1] * 50, 200, 50, 60),
        ([4], [1] * 50, 200, 50, math.inf),  # no more rows than one label stands for
        ([5] * 20, [1] * 42 + [5] * 8, 200, 50, math.inf),  # enough labelled ones are like them
        ([20] * 5, [1] * 48 + [20] * 2, 200, 50, 20),
        ([60, 5, 5, 5, 5, 5], [1] * 45 + [5] * 5, 185, 50, 60),
        ([2], [1] * 80, 101, 80, math.inf),  # nearly as small as the others
        ([60], [], 200, 0, math.inf),
    ],
)
def test_texts_are_apart_until_enough_labelled_ones_are_alike(
    sizes: list[int], of_labelled: list[int], rows: int, drawn: int, least: float
) -> None:
    assert least_apart(sizes, of_labelled, rows, drawn) == least


def test_the_value_takes_a_text_without_a_label_for_others_of_its_verdict() -> None:
    verdicts = ["FAIL"] * 60 + ["FAIL", "PASS"] * 20
    labels = [None] * 60 + [0.0, 1.0] * 20
    found = corrected_mean(verdicts, labels, ("FAIL", "PASS"), apart=range(60), these_rows=True)
    assert (found.value, found.count) == (0.2, 40)
    assert (found.lower, found.upper) == (pytest.approx(0.2), pytest.approx(0.8))


def test_rows_apart_without_others_are_all_there_is() -> None:
    nothing = undefined("any", 0, "no labels")
    assert with_rows_apart(nothing, 10, [(1.0, None)], these_rows=True) is nothing
    found = with_rows_apart(nothing, 0, [(1.0, None), (None, None)], these_rows=True)
    assert (found.lower, found.upper, found.count, found.reason) == (0.5, 1.0, 1, "")
    open_verdict = Estimate(None, 0.2, 0.6, 8, "any", 0.95, "a verdict without labels")
    found = with_rows_apart(open_verdict, 1, [(1.0, None)], these_rows=True)
    assert (found.value, found.lower, found.upper) == (None, 0.6, 0.8)
    assert found.reason.startswith("a verdict has no label")
