"""A model that takes the place of a member of a panel that gives no verdict."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from adjudge import AspectCritic, Criteria, CriteriaOption, DirectJudge, PairwiseJudge, run
from adjudge.core.domain.results import Status
from adjudge.errors import SetupError
from adjudge.runs.folder import records_of, run_info
from support.commands import adjudge

POLITE = Criteria(
    "polite", "Is it polite?", (CriteriaOption("yes", score=1.0), CriteriaOption("no", score=0.0))
)


class Member:
    """A model under a name, which counts its calls and fails on some texts."""

    def __init__(
        self, name: str, says: str | None = "PASS", fails: Callable[[str], bool] = lambda _: False
    ) -> None:
        self.name, self._says, self._fails, self.calls = name, says, fails, 0
        self.__name__ = name

    def __call__(self, prompt: str) -> str:
        self.calls += 1
        if self._fails(prompt):
            raise RuntimeError("no room")
        return json.dumps({"explanation": f"{self.name} says so", "selected_option": self._says})


def always(_: str) -> bool:
    return True


def names(votes: Sequence[Any]) -> Counter[str]:
    return Counter(vote.model for vote in votes if vote.valid)


def test_the_replacement_takes_the_place_of_a_member_that_fails() -> None:
    members = [Member("a"), Member("b", fails=lambda text: "hard" in text), Member("c", "FAIL")]
    spare = Member("spare", "FAIL")
    critic = AspectCritic("Is it polite?", members, replacement=spare)
    easy, hard = critic.evaluate(["an easy text", "a hard text"])
    assert (easy.verdict, easy.replaced, spare.calls) == ("PASS", {}, 1)
    assert hard.verdict == "FAIL"
    assert hard.replaced == {"b": "spare"}
    assert names(hard.votes) == Counter(a=1, c=1, spare=1)
    assert [entry.model for entry in hard.panel] == ["a", "c", "spare"]
    assert "no room" in hard.excluded_models["b"]
    assert any("b gave no verdict, so spare was asked" in note for note in hard.notes)
    # A full panel: nothing is missing that a gate would have to fear.
    assert (hard.votes_requested, hard.votes_valid) == (3, 3)
    record = hard.record()
    assert record.lost_models == () and record.left_out == ("b",)
    assert record.possible_scores() is None


def test_a_replacement_that_fails_too_leaves_the_panel_as_it_was() -> None:
    def panel() -> list[Member]:
        return [Member("a"), Member("b", fails=always), Member("c", "FAIL")]

    with_spare = AspectCritic(
        "Is it polite?", panel(), replacement=Member("spare", fails=always)
    ).evaluate("a text")
    without = AspectCritic("Is it polite?", panel()).evaluate("a text")
    assert with_spare.score == without.score == 0.5
    assert with_spare.votes_requested == without.votes_requested == 3
    assert with_spare.record().possible_scores() == without.record().possible_scores()
    assert set(with_spare.excluded_models) == {"b", "spare"}


def test_two_members_that_fail_are_not_two_votes_of_one_model() -> None:
    members = [Member("a"), Member("b", fails=always), Member("c", fails=always)]
    spare = Member("spare", "no")
    judge = DirectJudge([Member("a", "yes"), *members[1:]], replacement=spare)
    result = judge.evaluate("a text", POLITE)
    assert spare.calls == 1
    assert names(result.votes) == Counter(a=1, spare=1)
    assert result.replaced == {"b": "spare"}
    assert (result.votes_requested, result.votes_valid) == (3, 2)
    assert result.record().lost_models == ("c",)


def test_a_member_that_declines_is_not_replaced() -> None:
    """To ask another model because of an answer would be to choose among answers."""
    spare, decliner = Member("spare"), Member("b", None)
    result = AspectCritic("Polite?", [Member("a"), decliner], replacement=spare).evaluate("a text")
    assert [vote.outcome for vote in result.votes] == ["ok", "abstained"]
    assert (spare.calls, result.replaced) == (0, {})


@pytest.mark.parametrize("both_orders", [False, True])
def test_comparisons_ask_the_replacement_the_same_questions(both_orders: bool) -> None:
    members = [Member("a", "A"), Member("b", fails=always)]
    spare = Member("spare", "A")
    judge = PairwiseJudge(members, replacement=spare, check_positional_bias=both_orders, votes=2)
    result = judge.evaluate([["first", "second"]], Criteria("better", "Which is better?"))[0]
    expected = 4 if both_orders else 2
    assert spare.calls == expected
    assert names(result.votes) == Counter(a=expected, spare=expected)
    orders = {
        name: [vote.order for vote in result.votes if vote.model == name] for name in ("a", "spare")
    }
    assert orders["a"] == orders["spare"]


def test_several_votes_of_a_member_are_replaced_only_if_all_fail() -> None:
    times = iter(range(100))
    now_and_then = Member("b", fails=lambda _: next(times) % 2 == 0)
    spare = Member("spare")
    critic = AspectCritic("Polite?", [Member("a"), now_and_then], votes=2, replacement=spare)
    result = critic.evaluate("a text")
    assert (result.replaced, spare.calls) == ({}, 0)
    strict = AspectCritic(
        "Polite?", [Member("a"), now_and_then], votes=2, min_valid=2, replacement=spare
    ).evaluate("a text")
    assert strict.replaced == {"b": "spare"} and spare.calls == 2


def test_a_single_model_can_have_a_replacement() -> None:
    critic = AspectCritic("Polite?", Member("a", fails=always), replacement=Member("spare"))
    result = critic.evaluate("a text")
    assert (result.status, result.verdict) == (Status.SCORED, "PASS")


def test_a_run_keeps_who_was_replaced_and_asks_nothing_twice(tmp_path: Path) -> None:
    def fails_on_refusals(text: str) -> bool:
        return "hard" in text

    member, spare = Member("b", fails=fails_on_refusals), Member("spare")
    critic = AspectCritic("Polite?", [Member("a"), member], replacement=spare)
    texts = ["an easy text", "a hard text", "another hard text"]
    critic.evaluate(texts, run=tmp_path / "run")
    assert spare.calls == 2
    critic.evaluate(texts, run=tmp_path / "run")
    assert spare.calls == 2  # the member, whose calls failed, was asked again, and failed again
    records = list(records_of(tmp_path / "run", votes=True))
    assert [dict(record.replaced_models) for record in records] == [{}, *[{"b": "spare"}] * 2]
    assert records[1].to_dict()["replaced_models"] == {"b": "spare"}
    assert "replaced_models" not in records[0].to_dict()
    info = run_info(tmp_path / "run")
    assert set(info.usage) >= {"a", "spare"}
    assert next(iter(info.excluded.values())) == {"b": 2}


def test_the_identity_changes_only_with_a_replacement() -> None:
    members = [Member("a"), Member("b")]
    plain = AspectCritic("Polite?", members).configuration()
    assert "replacement" not in plain["settings"]  # type: ignore[operator]
    with_spare = AspectCritic("Polite?", members, replacement=Member("spare")).configuration()
    assert with_spare["settings"] == {**plain["settings"], "replacement": "spare"}  # type: ignore[dict-item]
    assert set(with_spare["models"]) == {"a", "b", "spare"}  # type: ignore[arg-type]


def test_weights_name_the_replacement_too() -> None:
    members, spare = [Member("a"), Member("b", fails=always)], Member("spare", "FAIL")
    with pytest.raises(SetupError, match="'spare' has no weight"):
        AspectCritic("Polite?", members, weights={"a": 1, "b": 1}, replacement=spare)
    critic = AspectCritic(
        "Polite?", members, weights={"a": 1, "b": 3, "spare": 3}, replacement=spare
    )
    assert critic.evaluate("a text").score == 0.25


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SetupError, match="already in the panel"):
        AspectCritic("Polite?", "scripted/PASS", replacement="scripted/PASS")
    with pytest.raises(SetupError, match="one model"):
        AspectCritic("Polite?", "scripted/PASS", replacement=["scripted/FAIL"])  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="early_stop or replacement"):
        DirectJudge("scripted/yes", early_stop=True, replacement="scripted/no")


def test_an_eval_file_names_a_replacement(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("response\na hard text\n")
    (tmp_path / "b.py").write_text("def b(prompt):\n    raise RuntimeError('no room')\n")
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nmodels: ['scripted/PASS', 'b.py:b']\n"
        "judges: [{kind: aspect, criteria: It is polite., replacement: scripted/FAIL}]\n"
        "run: run\n"
    )
    done = adjudge("run", str(tmp_path / "eval.yaml"), "--trust")
    (record,) = records_of(tmp_path / "run")
    assert record.replaced_models == {"b": "scripted/FAIL"}, done.stderr


def test_a_cascade_has_no_replacement(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("response\na text\n")
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\njudges: [{kind: aspect, criteria: It is polite., "
        "cascade: [scripted/PASS, scripted/FAIL], replacement: scripted/FAIL}]\n"
    )
    with pytest.raises(SetupError, match="the next step is asked"):
        run(tmp_path / "eval.yaml")


def test_the_option_names_a_replacement(tmp_path: Path) -> None:
    options = ("--criterion", "It is polite.", "-m", "scripted/nonsense", "--json")
    done = adjudge("check", "a text", *options, "--replacement", "scripted/PASS")
    (judgment,) = json.loads(done.stdout)["results"]
    assert judgment["replaced_models"] == {"scripted/nonsense": "scripted/PASS"}
    assert judgment["verdict"] == "PASS"


def test_an_estimate_names_the_most_that_a_replacement_may_add(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    members = [Member("a"), Member("b", fails=lambda text: "hard" in text)]
    aspect = AspectCritic("Is it polite?", members, votes=2, replacement="openai/gpt-4o")
    items = [aspect.prepare(f"text {number}") for number in range(3)]
    plain = AspectCritic("Is it polite?", members, votes=2).estimate(items)
    cost = aspect.estimate(items)
    assert (cost.calls, cost.tokens, cost.usd) == (plain.calls, plain.tokens, plain.usd)
    (replacement,) = cost.replacements
    assert (replacement.model, replacement.calls) == ("openai/gpt-4o", 7)
    assert replacement.usd and not plain.replacements
    direct = DirectJudge(members, replacement=Member("spare"))
    (unpriced,) = direct.estimate(direct.cases(["one", "two"], POLITE)).replacements
    assert (unpriced.model, unpriced.calls, unpriced.usd) == ("spare", 2, None)
