"""Which rows people label, in which order, and who labels which."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import (
    AspectCritic,
    Capabilities,
    DirectJudge,
    Instance,
    QuantitativeCriteria,
    Reply,
    Request,
    ScriptedModel,
)
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.label import Answer
from adjudge.errors import RunError, SetupError
from adjudge.features.rag.record import Composite, RagDetail
from adjudge.runs.folder import records_of
from adjudge.trust.labels.queue import (
    FAILED,
    FLOOR,
    Queue,
    QueuedRow,
    row_index,
    verdict_of,
)
from adjudge.trust.labels.scales import label_scale, label_scales
from adjudge.trust.labels.session import Annotator, Labelling, labelling
from adjudge.trust.labels.store import LabelStore
from support.labels import compared, identity, judged, model


def texts(count: int) -> list[str]:
    return [f"text number {number:04}." for number in range(count)]


def rare_fail(prompt: str) -> str:
    """FAIL for one row in twenty."""
    found = re.search(r"text number (\d+)", prompt)
    return "FAIL" if found and int(found[1]) % 20 == 0 else "PASS"


def plan(run: Path, queue: Queue = "random", count: int = 50, seed: int = 0) -> list[QueuedRow]:
    with row_index(run, label_scale(run, None), seed, queue=queue) as index:
        return index.plan(queue, count)


def is_fail(row: QueuedRow) -> bool:
    return int(row.id[1:]) % 20 == 0 if row.id else False


def label_all(work: Labelling, option: str = "PASS", most: int = 1000) -> int:
    count = 0
    while count < most and (shown := work.next()):
        work.answer(shown, Answer(option=option))
        count += 1
    return count


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("big") / "run", texts(600), rare_fail)


def test_the_first_fifty_are_drawn_among_all_rows_by_the_seed(big: Path) -> None:
    one, again, other = plan(big, seed=1), plan(big, seed=1), plan(big, seed=2)
    assert one == again != other
    assert {row.design for row in one[:50]} == {"random"}
    assert [row.number for row in one[:50]] != sorted(row.number for row in one[:50])


def graded(folder: Path, options: int, rare: int, failed: int = 0) -> Path:
    """200 rows by a criterion with so many options: the first ``rare`` have the worst one, the next
    ``failed`` none, and the others share the other options.
    """
    names = [f"grade {letter}" for letter in "abcdefg"[:options]]
    criteria = Criteria("grades", "How good is it?", [CriteriaOption(name) for name in names])

    def verdict(prompt: str) -> str:
        number = int(re.findall(r"text number (\d+)", prompt)[-1])
        if number < rare:
            return names[-1]
        return "" if number < rare + failed else names[number % (options - 1)]

    rows = [Instance({"response": text}, f"r{n}") for n, text in enumerate(texts(200))]
    DirectJudge(model(verdict), max_repairs=0).evaluate(rows, criteria, run=folder)
    return folder


@pytest.mark.parametrize(("options", "failed", "all_drawn"), [(3, 0, 1), (3, 12, 1), (4, 0, 0)])
def test_a_rare_verdict_among_many_needs_fewer_labels(
    tmp_path: Path, options: int, failed: int, all_drawn: bool
) -> None:
    """Of three verdicts each gets fifteen labels, or all 14 that there are; of four or more, five.
    Failed rows are not a verdict more.
    """
    run = graded(tmp_path / "run", options, 14, failed)
    rare = [row for row in plan(run) if row.number < 14]
    assert len(rare) >= 5
    assert (len(rare) == 14) == all_drawn


def test_failed_rows_get_labels_of_their_own_also_beside_numbers(tmp_path: Path) -> None:
    """Neither a number nor a failed row has an option by which it could be told from the other."""

    def answer(request: Request) -> str:
        number = int(re.findall(r"text number (\d+)", request.prompt.text)[-1])
        return "I cannot say." if number < 20 else '{"explanation": "so", "score": 7}'

    rows = [Instance({"code": text}, f"r{n}") for n, text in enumerate(texts(200))]
    criteria = QuantitativeCriteria("How good is it?", ScriptedModel(answer, "m"), max_repairs=0)
    asyncio.run(criteria.judge_items(rows, run=tmp_path / "run"))
    planned = plan(tmp_path / "run")
    assert len([row for row in planned if row.number < 20]) >= FLOOR
    assert len([row for row in planned if row.number >= 20]) > 40


def test_a_rare_verdict_gets_fifteen_labels(big: Path) -> None:
    rows = plan(big)
    assert sum(map(is_fail, rows)) >= 15
    topped = [row for row in rows if row.design == "random_within_verdict"]
    assert topped
    assert all(map(is_fail, topped))
    assert not [row for row in rows[:50] if row.design != "random"]


def test_rows_that_top_up_a_verdict_hide_among_random_ones(big: Path) -> None:
    """Were all rows after the fiftieth of one verdict, the place of a row would tell it."""
    tail = plan(big)[50:]
    designs = [row.design for row in tail]
    assert designs.count("random") >= designs.count("random_within_verdict") > 0
    assert designs != sorted(designs)
    assert designs != sorted(designs, reverse=True)


def test_random_rows_are_the_beginning_of_one_permutation(big: Path) -> None:
    """Whatever the verdicts are: only the rows that top up depend on them."""
    everything = [row.identity for row in plan(big, count=600)]
    assert len(everything) == len(set(everything)) == 600
    small, more = plan(big), plan(big, count=200)
    assert len(more) == 200
    assert [row.identity for row in more][: len(small)] == [row.identity for row in small]


def test_rows_of_a_verdict_are_drawn_in_the_order_of_the_permutation(big: Path) -> None:
    ordered = [row.identity for row in plan(big, count=49)]
    fails = [row.identity for row in plan(big) if is_fail(row)]
    drawn = [identity for identity in ordered if identity in fails]
    assert drawn
    assert fails[: len(drawn)] == drawn


def test_added_rows_leave_the_others_in_their_order(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(30), rare_fail)
    before = [row.identity for row in plan(run)]
    judged(run, texts(45), rare_fail)
    after = [row.identity for row in plan(run)]
    assert [one for one in after if one in set(before)] == before
    assert len(after) == 45


def test_rows_of_equal_content_are_labelled_once(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", ["a", "b", "a"], rare_fail)
    assert {row.identity for row in plan(run)} == {identity("a"), identity("b")}


def test_fewer_than_fifty_are_just_so_many(big: Path) -> None:
    assert len(plan(big, count=7)) == 7


def test_failed_judgments_are_a_verdict_of_their_own_to_the_draw(tmp_path: Path) -> None:
    run = judged(
        tmp_path / "run", texts(300), lambda prompt: "" if rare_fail(prompt) == "FAIL" else "PASS"
    )
    assert sum(map(is_fail, plan(run))) == 15
    failed = plan(run, "failed", 100)
    assert len(failed) == 15
    assert all(map(is_fail, failed))
    assert {row.design for row in failed} == {"chosen"}


def test_disputed_rows_come_first(tmp_path: Path) -> None:
    """The panel is divided on one row in twenty."""
    critic = AspectCritic(
        "It is so.", [model(rare_fail, "a"), model(lambda _: "PASS", "b")], name="dates"
    )
    critic.evaluate(
        [Instance({"response": text}, f"r{number}") for number, text in enumerate(texts(60))],
        run=tmp_path,
    )
    disputed = plan(tmp_path, "disagreement")
    assert {row.id for row in disputed} == {"r0", "r20", "r40"}


def test_rows_the_judge_was_unsure_of_come_first(tmp_path: Path) -> None:
    critic = AspectCritic("It is so.", model(lambda _: "PASS"), strictness=3, temperature=1.0)
    critic.evaluate(["sure", "sure, too"], run=tmp_path)
    assert plan(tmp_path, "low-confidence") == []
    turns = iter(["PASS", "FAIL", "PASS"])
    doubted = AspectCritic("It is so.", model(lambda _: next(turns)), strictness=3, temperature=1.0)
    doubted.evaluate(["unsure"], run=tmp_path / "two")
    assert [row.identity for row in plan(tmp_path / "two", "low-confidence")] == [
        identity("unsure")
    ]


@pytest.mark.parametrize("queue", ["low-confidence", "suspicious"])
def test_a_single_vote_that_was_nearly_the_other_one_is_doubted(
    tmp_path: Path, queue: Queue
) -> None:
    class Unsure(ScriptedModel):
        capabilities = Capabilities(logprobs=True, exact_logprobs=True)

    def script(request: Request) -> Reply:
        text = request.prompt.text  # of neutral texts, which give the prior, neither is likelier
        share = 0.55 if "doubtful" in text else 0.999 if "certain" in text else 0.5
        first, second = request.labels
        found = {first: math.log(share), second: math.log(1 - share)}
        return Reply(first, logprobs=(FrozenDict(found),))

    critic = AspectCritic("It is so.", Unsure(script), mode="likelihood")
    critic.evaluate(["certain", "doubtful"], run=tmp_path)
    assert plan(tmp_path, queue)[0].identity == identity("doubtful")


def test_what_is_drawn_is_recorded_with_each_label(big: Path, tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(300), rare_fail)
    work = labelling(run, Annotator("ann", seed=5))
    label_all(work)
    labels = list(LabelStore(run).current("dates"))
    assert {one.seed for one in labels} == {5}
    assert {one.drawn_at for one in labels} == {work.draw.at}
    assert not any(one.judge_visible for one in labels)
    under = {one.design: one.drawn_under for one in labels}
    assert under == {"random": None, "random_within_verdict": label_scale(run, None).identity}
    assert Counter(one.state for one in labels) == {"given": len(plan(run, seed=5))}


def test_a_session_goes_on_where_the_last_one_stopped(big: Path, tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(20), rare_fail)
    first = labelling(run, Annotator("ann"))
    assert label_all(first, most=8) == 8
    assert tuple(first.progress()) == (8, 20)
    again = labelling(run, Annotator("ann"))
    assert tuple(again.progress()) == (8, 20)
    assert label_all(again) == 12
    assert again.next() is None


def test_undo_shows_the_row_again_also_that_of_the_session_before(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(5), rare_fail)
    work = labelling(run, Annotator("ann"))
    assert work.undo() is None
    first = work.next()
    assert first
    work.answer(first, Answer(option="PASS"))
    later = labelling(run, Annotator("ann"))
    assert later.undo()
    shown = later.next()
    assert shown == first
    later.answer(shown, Answer(option="FAIL"))
    (one,) = LabelStore(run).current()
    assert one.option == "FAIL"
    assert tuple(later.progress()) == (1, 5)


def test_skipped_rows_come_back_in_the_next_session_and_last(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(3), rare_fail)
    work = labelling(run, Annotator("ann"))
    skipped = work.next()
    assert skipped
    work.skip(skipped)
    assert label_all(work) == 2
    assert tuple(work.progress()) == (2, 3)
    again = labelling(run, Annotator("ann"))
    assert again.next() == skipped
    work = labelling(judged(tmp_path / "two", texts(3), rare_fail), Annotator("ann"))
    first = work.next()
    assert first
    work.skip(first)
    fresh = labelling(tmp_path / "two", Annotator("ann"))
    assert fresh.next() != first


def test_everybody_labels_the_same_rows_unless_told_otherwise(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(6), rare_fail)
    assert label_all(labelling(run, Annotator("ann"))) == 6
    assert label_all(labelling(run, Annotator("bob")), "FAIL") == 6
    assert len(list(LabelStore(run).conflicts())) == 6


def test_an_overlap_is_labelled_by_all_and_the_rest_is_divided(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(20), rare_fail)
    ann, bob = (labelling(run, Annotator(name, overlap=6)) for name in ("ann", "bob"))
    assert label_all(ann, most=13) == 13
    ann.leave()
    assert label_all(bob) == 13
    assert tuple(bob.progress()) == (13, 13)
    assert ann.next() is None
    by_row = Counter(one.row for one in LabelStore(run).current())
    assert Counter(by_row.values()) == {2: 6, 1: 14}


def test_a_chosen_row_is_labelled_anew_when_it_is_drawn(tmp_path: Path) -> None:
    """Without it the random sample would lack exactly the rows that somebody found worth a look."""
    run = judged(
        tmp_path / "run", texts(40), lambda prompt: "" if rare_fail(prompt) == "FAIL" else "PASS"
    )
    assert label_all(labelling(run, Annotator("ann", queue="failed"))) == 2
    work = labelling(run, Annotator("ann"))
    assert tuple(work.progress()) == (0, 40)
    label_all(work)
    assert {one.design for one in LabelStore(run).current()} == {"random"}


def test_a_drawn_row_is_not_offered_again_among_the_chosen(tmp_path: Path) -> None:
    run = judged(
        tmp_path / "run", texts(40), lambda prompt: "" if rare_fail(prompt) == "FAIL" else "PASS"
    )
    label_all(labelling(run, Annotator("ann")))
    assert labelling(run, Annotator("ann", queue="failed")).next() is None


def test_sides_are_shown_in_random_order_and_put_back(tmp_path: Path) -> None:
    run = compared(tmp_path / "run", [(f"good {number}", f"bad {number}") for number in range(30)])
    work = labelling(run, Annotator("ann"))
    sides = Counter[int]()
    while shown := work.next():
        responses = list(shown.fields["response"])
        place = next(place for place, text in enumerate(responses) if text.startswith("good"))
        sides[place] += 1
        work.answer(shown, Answer(winner=place))
    assert min(sides[0], sides[1]) >= 5
    assert {one.winner for one in LabelStore(run).current()} == {0}


def test_a_tie_is_a_tie_on_any_side(tmp_path: Path) -> None:
    run = compared(tmp_path / "run", [("a", "b")])
    work = labelling(run, Annotator("ann"))
    shown = work.next()
    assert shown
    assert work.answer(shown, Answer(winner="tie")).winner == "tie"


def test_criteria_must_be_named_where_there_are_several(tmp_path: Path) -> None:
    DirectJudge(model(lambda _: "Yes")).evaluate(
        ["a"] * 2, ["Is it kind?", "Is it short?"], run=tmp_path
    )
    assert [one.name for one in label_scales(tmp_path)] == ["Is it kind?", "Is it short?"]
    with pytest.raises(
        SetupError,
        match=r"has 2 criteria: choose one with --criteria: 'Is it kind\?', 'Is it short\?'",
    ):
        label_scale(tmp_path, None)
    with pytest.raises(SetupError, match="has no criterion 'tone'"):
        label_scale(tmp_path, "tone")
    assert len(plan_of(tmp_path, "Is it short?")) == 1


def plan_of(run: Path, criteria: str) -> list[QueuedRow]:
    with row_index(run, label_scale(run, criteria)) as index:
        return index.plan("random", 50)


def test_the_criteria_of_a_run_are_those_its_judge_was_given(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", ["a"], rare_fail)
    critic = AspectCritic("The response gives a date.", model(rare_fail), name="dates")
    assert label_scale(run, None).scale.criteria == critic.criteria
    assert label_scale(run, None).scale.criteria.identity == critic.criteria.identity


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not a run folder"):
        label_scales(tmp_path)


def test_a_row_that_changed_meanwhile_is_not_shown_under_its_old_name(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", ["a", "b"], rare_fail)
    work = labelling(run, Annotator("ann"))
    judged(run, ["c", "d"], rare_fail)
    with pytest.raises(RunError, match="changed meanwhile"):
        work.next()


def test_a_judgment_about_something_else_has_no_verdict_here(tmp_path: Path) -> None:
    result = next(records_of(judged(tmp_path / "run", ["a", "b"], rare_fail)))
    assert (verdict_of(result, "dates"), verdict_of(result, "tone")) == ("PASS", None)
    assert verdict_of(replace(result, status="failed"), "dates") == FAILED
    one = Composite(value=None, rule="mean", lower=0.0, upper=1.0)
    none: dict[str, None] = {"clarity": None}
    parts = RagDetail(
        composite=one, scores=none, normalized=none, explanations=none, agreements=none
    )
    assert verdict_of(replace(result, detail=parts), "clarity") == FAILED


def test_who_decides_between_annotators_gets_the_rows_without_a_majority(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(4), rare_fail)
    for name, options in (("ann", "PPPP"), ("bob", "PPFF"), ("chris", "PPP")):
        work = labelling(run, Annotator(name, seed=3))
        for letter in options:
            shown = work.next()
            assert shown
            work.answer(shown, Answer(option="PASS" if letter == "P" else "FAIL"))
    conflicts = list(LabelStore(run).conflicts())
    assert [one.is_open for one in conflicts].count(True) == 1
    deciding = labelling(run, Annotator("dora", queue="conflicts"))
    shown = deciding.next()
    assert shown
    assert {one.annotator: one.option for one in deciding.given(shown)} == {
        "ann": "PASS",
        "bob": "FAIL",
    }
    label = deciding.answer(shown, Answer(option="FAIL"))
    assert label.design == "chosen"
    assert deciding.next() is None
    assert deciding.undo() == label
    assert deciding.next() == shown
