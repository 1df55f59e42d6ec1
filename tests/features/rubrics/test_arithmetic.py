"""The arithmetic of rubrics: published examples, and random rubrics against plain Python."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from adjudge.errors import SetupError
from adjudge.features.rubrics.arithmetic import category_scores, failed_gates, open_gates, score_of
from adjudge.features.rubrics.formulas import (
    WILDBENCH_REWARDS,
    balanced_f1,
    clipped_mean,
    macro_mean,
    mean,
    on_unit,
    wildbench_score,
)
from adjudge.features.rubrics.layouts import parse_rubric, rubric_data
from adjudge.features.rubrics.rubric import Group, Point, Rubric, nodes

F = Fraction
MET, NOT, MISSING = F(1), F(0), None
CLOSE = 1e-12


Values = dict[str, Fraction | None]


def health(
    *points: tuple[float, Fraction | None] | tuple[float, Fraction | None, str],
) -> tuple[Rubric, Values]:
    """Return a HealthBench rubric and the values of its points."""
    rubric = parse_rubric(
        [
            {"criterion": f"c{place}", "points": each[0], "tags": list(each[2:])}
            for place, each in enumerate(points, 1)
        ]
    )
    return rubric, {str(place): each[1] for place, each in enumerate(points, 1)}


def ends(rubric: Rubric, values: Values) -> tuple[float, float]:
    lower, upper = score_of(rubric, values)
    return float(lower), float(upper)


def test_fixture_1_met_points_over_positive_points() -> None:
    assert score_of(*health((10, MET), (5, NOT), (3, MET), (-8, MET))).value == F(5, 18)


def test_fixture_2_a_row_below_zero_is_clipped_only_as_a_data_set() -> None:
    value = score_of(*health((10, NOT), (-5, MET))).value
    assert value == F(-1, 2)
    assert clipped_mean([float(value)]) == 0.0


def test_fixture_3_only_penalties_are_refused_unless_asked_for() -> None:
    with pytest.raises(SetupError, match="no point is worth more than 0"):
        health((-5, NOT), (-3, MET))
    penalties = {
        "combine": "penalties",
        "points": [{"text": "a", "points": -5}, {"text": "b", "points": -3}],
    }
    assert score_of(parse_rubric(penalties), {"1": NOT, "2": MET}).value == F(5, 8)


def test_fixture_4_points_of_zero() -> None:
    assert score_of(*health((0, MET), (4, MET))).value == 1
    with pytest.raises(SetupError, match="no point is worth more than 0"):
        health((0, MET))


def test_fixture_5_clips_once() -> None:
    assert clipped_mean([0.9, -0.8, 0.4]) == pytest.approx(1 / 6, abs=CLOSE)


def test_fixture_6_a_lost_vote_is_not_a_no() -> None:
    assert score_of(*health((10, MET), (-5, MET))).value == F(1, 2)
    assert ends(*health((10, MET), (-5, MISSING))) == (0.5, 1.0)
    assert ends(*health((10, MISSING), (-5, MET))) == (-0.5, 0.5)


def test_fixture_7_bounds() -> None:
    bounds = score_of(*health((10, MET), (5, MISSING), (-8, MISSING)))
    assert bounds == (F(2, 15), F(1))
    assert bounds.value is None


def test_fixture_8_categories_count_their_own_points() -> None:
    rubric, values = health((10, MET, "accuracy"), (-4, MET, "accuracy"), (-3, MET, "talk"))
    assert score_of(rubric, values).value == F(3, 10)
    scores = category_scores(rubric, values)
    assert scores["accuracy"] is not None and scores["accuracy"].value == F(6, 10)
    assert scores["talk"] is None


def paper(**weights: float) -> Rubric:
    """Return the tree of fixtures 9 and 10."""
    weight = {"a": 2, "x": 1, "y": 3, "b": 1, "c": 1} | weights
    leaf = {"task_category": "Code Development"}
    return parse_rubric(
        {
            "id": "root",
            "requirements": "all",
            "weight": 1,
            "sub_tasks": [
                {
                    "id": "A",
                    "requirements": "A",
                    "weight": weight["a"],
                    "sub_tasks": [
                        {"id": "x", "requirements": "x", "weight": weight["x"], **leaf},
                        {"id": "y", "requirements": "y", "weight": weight["y"], **leaf},
                    ],
                },
                {"id": "B", "requirements": "B", "weight": weight["b"], **leaf},
                {"id": "C", "requirements": "C", "weight": weight["c"], **leaf},
            ],
        }
    )


def test_fixture_9_a_tree_of_means() -> None:
    values = {"x": MET, "y": NOT, "B": MET, "C": NOT}
    assert score_of(paper(), values).value == F(3, 8)
    weights = [unit.weight for unit in paper().units]
    assert weights == [F(1, 8), F(3, 8), F(1, 4), F(1, 4)]
    with pytest.raises(SetupError, match="cannot give a score"):  # upstream: 0.0
        paper(a=0, b=0, c=0)


def test_fixture_10_a_failed_leaf() -> None:
    values = {"x": MET, "y": NOT, "C": NOT}
    assert score_of(paper(), {**values, "B": MISSING}) == (F(1, 8), F(3, 8))
    assert score_of(paper(), {**values, "B": NOT}).value == F(1, 8)  # as upstream counts it
    left_out = paper(b=0)
    assert score_of(left_out, {**values, "B": NOT}).value == F(1, 6)


def test_fixture_11_weights_of_rubrics_as_rewards() -> None:
    weights = (("e", "1.0"), ("i", 0.7), ("o", 0.3), ("p", 0.9))
    rubric = parse_rubric([{"id": id, "text": id, "weight": weight} for id, weight in weights])
    assert score_of(rubric, {"e": MET, "i": NOT, "o": MET, "p": MET}).value == F(22, 29)


def test_fixture_12_levels_worst_to_best() -> None:
    three = ["poor", "fair", "good"]
    rubric = parse_rubric(
        {
            "combine": "mean",
            "points": [
                {"text": "a", "weight": 2},
                {"text": "b", "levels": three},
                {"text": "c", "weight": 0},
            ],
        }
    )
    middle = rubric.points[1].value("2")
    assert score_of(rubric, {"1": MET, "2": middle, "3": MET}).value == F(5, 6)


def test_fixture_13_likert_timeout_and_weighted_sum() -> None:
    likert = {"text": "l", "levels": list("abcde")}
    rubric = parse_rubric({"combine": "mean", "points": [{"text": "b", "weight": 2}, likert]})
    four = rubric.points[1].value("4")
    assert four == F(3, 4)
    assert score_of(rubric, {"1": MET, "2": four}).value == F(11, 12)
    assert score_of(rubric, {"1": MET, "2": MISSING}) == (F(2, 3), F(1))
    added = parse_rubric({"combine": "sum", "points": ["a", likert, {"text": "c", "points": -0.5}]})
    assert score_of(added, {"1": MET, "2": four, "3": MET}).value == F(5, 4)


def test_fixture_14_wildbench() -> None:
    assert wildbench_score([8, 6, 7]) == pytest.approx(40.0, abs=CLOSE)
    pairs = ["++"] * 3 + ["+"] * 2 + ["="] * 3 + ["-", "--"]
    assert mean([WILDBENCH_REWARDS[each] for each in pairs]) == pytest.approx(0.25, abs=CLOSE)


def test_fixture_15_biggen_averages_capabilities() -> None:
    scores = [*(("reasoning", each) for each in (5, 3, 4, 4)), ("safety", 2)]
    assert macro_mean(scores) == pytest.approx(3.0, abs=CLOSE)


def test_fixture_16_scales() -> None:
    assert mean([4, 2]) == 3.0  # FLASK: N/A is counted apart
    assert on_unit(6, 3, 7) == pytest.approx(0.75, abs=CLOSE)
    with pytest.raises(ValueError, match="no length"):
        on_unit(3, 3, 3)


def test_fixture_17_a_gate() -> None:
    points = [{"text": "a", "weight": 3}, {"text": "b", "weight": 1}]
    free = parse_rubric({"combine": "mean", "points": points})
    assert score_of(free, {"1": MET, "2": NOT}).value == F(3, 4)
    points[1]["required"] = True
    gated = parse_rubric({"combine": "mean", "points": points})
    assert score_of(gated, {"1": MET, "2": NOT}).value == 0
    assert failed_gates(gated, {"1": MET, "2": NOT}) == ("2",)
    assert score_of(gated, {"1": MISSING, "2": NOT}).value == 0  # nothing can change it
    assert score_of(gated, {"1": MET, "2": MISSING}) == (0, 1)
    assert open_gates(gated, {"1": MET, "2": MISSING}) == ("2",)


def test_fixture_18_meta_evaluation_counts_each_pair_once() -> None:
    pairs = [(True, True), (True, True), (True, False), (False, False), (False, True)]
    met, not_met = balanced_f1(pairs)
    assert met == pytest.approx(2 / 3, abs=CLOSE)
    assert not_met == pytest.approx(0.5, abs=CLOSE)


def test_biggen_layout_has_one_point_of_five_levels() -> None:
    levels = {f"score{n}_description": f"level {n}" for n in range(1, 6)}
    rubric = parse_rubric({"criteria": "Is it sound?", **levels})
    assert rubric.layout == "biggen"
    assert [float(rubric.points[0].value(str(n))) for n in range(1, 6)] == [0, 0.25, 0.5, 0.75, 1]


def test_groups_any_all_and_at_most_one() -> None:
    rubric = parse_rubric(
        [
            {"id": "any", "points": 2, "any_of": ["a", "b"]},
            {"id": "all", "points": 3, "all_of": ["c", "d"]},
            {"id": "one", "points": 5, "at_most_one": ["e", "f", "g"]},
        ]
    )
    ids = [point.id for point in rubric.points]
    assert ids == ["1.1", "1.2", "2.1", "2.2", "3.1", "3.2", "3.3"]
    values = dict(zip(ids, [MET, NOT, MET, NOT, MET, NOT, NOT], strict=True))
    assert score_of(rubric, values).value == F(7, 10)
    assert score_of(rubric, {**values, "3.2": MISSING}) == (F(2, 10), F(7, 10))
    assert score_of(rubric, {**values, "3.2": MET}).value == F(2, 10)
    assert score_of(rubric, {**values, "1.2": MISSING}).value == F(7, 10)


def test_a_gate_never_raises_a_score() -> None:
    rubric = parse_rubric(
        [{"text": "a", "points": 10, "required": True}, {"text": "b", "points": -5}]
    )
    assert score_of(rubric, {"1": NOT, "2": MET}).value == F(-1, 2)
    must_not = parse_rubric(
        [{"text": "a", "points": 10}, {"text": "b", "points": -1, "required": True}]
    )
    assert score_of(must_not, {"1": MET, "2": MET}).value == 0
    assert score_of(must_not, {"1": MET, "2": NOT}).value == 1


@pytest.mark.parametrize(
    ("rubric", "why"),
    [
        ([], "no points"),
        ([{"id": "x", "text": "a"}, {"id": "x", "text": "b"}], "two points have the id 'x'"),
        ([{"text": "a", "points": "nan"}], "finite number"),
        ([{"text": "a", "points": float("inf")}], "finite number"),
        ([{"text": "a", "points": True}], "finite number"),
        ([{"text": "a", "points": 5, "weight": 5}], "'weight' mean the same"),
        ([{"text": "a", "points": None}], "finite number, not None"),
        ([{"text": " "}], "must be a non-empty string"),
        ([{"text": "a", "wieght": 2}], "unknown key 'wieght'"),
        ([{"criterion": "a"}], "needs 'criterion' and 'points'"),
        ({"requirements": "a", "sub_tasks": []}, "needs 'requirements' and 'weight'"),
        ([{"text": "a", "levels": ["one"]}], "two levels or more"),
        ([{"text": "a", "kind": "count"}], "a count needs 'most'"),
        ({"combine": "mean", "points": [{"text": "a", "points": -1}, "b"]}, "below 0"),
        (
            [
                {"text": "Warns.", "required": True},
                {"text": " warns. ", "points": -1, "required": True},
            ],
            "no answer can pass",
        ),
        (
            [
                {
                    "required": True,
                    "at_most_one": [
                        {"text": "a", "required": True},
                        {"text": "b", "required": True},
                    ],
                }
            ],
            "no answer can pass",
        ),
        ("[1", "not JSON"),
        ('[{"text": "a", "text": "b"}]', "appears twice"),
        (3, "a rubric must be a list of points"),
        ([{"criterion": "a", "points": 1, "tags": ["t", "t"]}], "listed twice"),
    ],
)
def test_refuses_what_cannot_be_judged(rubric: object, why: str) -> None:
    with pytest.raises(SetupError, match=why):
        parse_rubric(rubric)


def test_keys_that_a_table_left_empty_are_absent() -> None:
    """Tables such as those of Hugging Face give every object all keys of its column."""
    empty = dict.fromkeys(("kind", "levels", "most", "tags", "required", "id", "any_of", "weight"))
    full = [{**empty, "text": "a", "points": 5}, {**empty, "points": 1, "any_of": ["b", "c"]}]
    plain = [{"text": "a", "points": 5}, {"points": 1, "any_of": ["b", "c"]}]
    assert parse_rubric(full) == parse_rubric(plain)
    assert parse_rubric({"points": full, "combine": None, "layout": None}) == parse_rubric(plain)


def test_a_rubric_of_hundreds_of_levels_is_refused() -> None:
    nested: dict[str, object] = {"text": "deep"}
    for _ in range(60):
        nested = {"group": [nested]}
    with pytest.raises(SetupError, match="nested deeper"):
        parse_rubric([nested])


# -- random rubrics against an independent implementation --------------------------------


def plain_score(node: Group | Point, met: dict[str, float]) -> float:
    """Compute the score with floats, written without looking at ours."""
    if isinstance(node, Point):
        return met[node.id]
    scores = [plain_score(part, met) for part in node.parts]
    points = [float(part.points) for part in node.parts]
    if node.combine == "any":
        return float(any(score == 1 for score in scores)) if set(scores) <= {0, 1} else max(scores)
    if node.combine == "all":
        return min(scores)
    if node.combine == "at most one":
        return 1.0 if scores.count(1) < 2 else 0.0
    total = sum(point * score for point, score in zip(points, scores, strict=True))
    if node.combine == "sum":
        return total
    if node.combine == "penalties":
        return 1 + total / sum(map(abs, points))
    return total / sum(point for point in points if point > 0)


def plain_gated(rubric: Rubric, met: dict[str, float]) -> float:
    score = plain_score(rubric.root, met)
    for node in nodes(rubric.root):
        value = plain_score(node, met)
        if node.required and (value > 0 if node.points < 0 else value != 1):
            score = min(score, 0.0)
    return score


def random_rubric(draw: random.Random) -> Rubric:
    """Return a rubric of at most ten points, flat or nested."""
    left = draw.randint(1, 8)

    def group(depth: int, combine: str) -> list[object]:
        nonlocal left
        parts: list[object] = []
        for _ in range(draw.randint(1, 4)):
            left -= 1
            part: dict[str, object] = {"points": draw.choice([0.5, 1, 2, 3, 7])}
            if combine == "points" and draw.random() < 0.3:
                part["points"] = -draw.randint(1, 9)
            if draw.random() < 0.1:
                part["required"] = True
            if depth < 2 and left > 0 and draw.random() < 0.35:
                kind = draw.choice(["any_of", "all_of", "at_most_one", "group"])
                below = "points" if kind == "group" else kind
                parts.append(part | {kind: group(depth + 1, below)})
                continue
            if combine != "at_most_one" and draw.random() < 0.2:
                part["levels"] = ["low", "middle", "high"]
            parts.append(part | {"text": f"text {draw.random()}"})
        return parts

    while True:
        left = draw.randint(1, 8)
        try:
            rubric = parse_rubric(group(0, "points"))
        except SetupError:
            continue
        if len(rubric.points) <= 10:
            return rubric


def test_a_thousand_random_rubrics_score_as_plain_python_does() -> None:
    draw = random.Random(57)
    for _ in range(1000):
        rubric = random_rubric(draw)
        answers = {point.id: draw.choice(point.answers) for point in rubric.points}
        values = {point.id: point.value(answers[point.id]) for point in rubric.points}
        plain = {id: float(value) for id, value in values.items()}
        bounds = score_of(rubric, values)
        assert bounds.value is not None
        assert float(bounds.value) == pytest.approx(plain_gated(rubric, plain), abs=CLOSE)


def test_bounds_hold_every_completion_and_are_reached() -> None:
    draw = random.Random(8)
    for _ in range(300):
        rubric = random_rubric(draw)
        values = {point.id: point.value(draw.choice(point.answers)) for point in rubric.points}
        missing = [point for point in rubric.points if draw.random() < 0.4][:5]
        known: dict[str, Fraction | None] = {**values, **{one.id: None for one in missing}}
        lower, upper = score_of(rubric, known)
        completions = [
            score_of(rubric, {**known, **dict(zip([one.id for one in missing], each, strict=True))})
            for each in itertools.product(
                *([one.value(answer) for answer in one.answers] for one in missing)
            )
        ]
        assert all(bounds.value is not None for bounds in completions)
        scores = [bounds.lower for bounds in completions]
        assert all(lower <= score <= upper for score in scores)
        exclusive = any(
            isinstance(node, Group) and node.combine == "at most one" for node in nodes(rubric.root)
        )
        if not (exclusive and rubric.gates):  # there the bounds may be wider than they must be
            assert (min(scores), max(scores)) == (lower, upper)


def test_order_splitting_and_signs() -> None:
    draw = random.Random(3)
    for _ in range(200):
        points = [(draw.choice([-5, -2, 1, 3, 8]), F(draw.randint(0, 1))) for _ in range(6)]
        points.append((4, MET))
        score = score_of(*health(*points)).value
        draw.shuffle(points)
        assert score_of(*health(*points)).value == score
        number, value = points[0]
        halves = [(number / 2, value), (number / 2, value), *points[1:]]
        assert score_of(*health(*halves)).value == score
        met = score_of(*health((number, MET), *points[1:])).value
        missed = score_of(*health((number, NOT), *points[1:])).value
        assert met is not None and missed is not None
        assert met >= missed if number > 0 else met <= missed


def test_a_rubric_is_read_back_from_its_data() -> None:
    draw = random.Random(5)
    for _ in range(200):
        rubric = random_rubric(draw)
        again = parse_rubric(rubric_data(rubric))
        assert again == rubric
        assert again.identity == rubric.identity
