"""The nouns: nothing changes them, what they say is their identity, and they travel between
processes.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.instance import DirectInstance, Instance, PairwiseInstance
from adjudge.core.domain.message import Capabilities, ChatMessage, Prompt, Reply, Request, Usage
from adjudge.core.domain.question import Choice, question_of
from adjudge.core.domain.results import AspectResult, ModelVerdict, Status
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.errors import SetupError

CRITERIA = Criteria(
    "dates",
    "It names a year.",
    [CriteriaOption("PASS", score=1.0), CriteriaOption("FAIL", score=0.0)],
)
INSTANCE = Instance(
    {"user_input": "When?", "response": "In 1889.", "contexts": ["a", "b"]},
    id="7",
    metadata={"source": "x"},
)
BALLOT = Ballot(CRITERIA, INSTANCE, question_of(CRITERIA), "aspect", "m")
TURNED = Choice(CRITERIA.option_names, CRITERIA.points, (1, 0))
PROMPT = Prompt((ChatMessage("system", "s"), ChatMessage("user", "u")))
VOTE = Vote(
    ballot=BALLOT,
    outcome=Outcome.OK,
    verdict=Chosen("PASS", "1889"),
    text="{}",
    usage=Usage(1, 20, 3),
    latency=0.25,
)
RESULT = AspectResult(
    instance=INSTANCE,
    criteria=CRITERIA,
    status=Status.SCORED,
    votes=(VOTE, replace(VOTE, outcome=Outcome.UNREADABLE, verdict=None, reason="empty")),
    score=1.0,
    verdict="PASS",
    agreement=1.0,
    panel=(ModelVerdict("m", "PASS", 1.0, 1.0, False, 1, 2),),
    excluded_models=FrozenDict({"n": "refused"}),
)
NOUNS = [
    *(
        CRITERIA,
        CRITERIA.options[0],
        INSTANCE,
        DirectInstance({"a": "x"}),
        PairwiseInstance({"responses": ["a", "b"]}),
        BALLOT,
    ),
    *(
        PROMPT.messages[0],
        PROMPT,
        Request(PROMPT),
        Reply("x"),
        Usage(),
        Capabilities(),
        VOTE,
        VOTE.verdict,
        RESULT,
        RESULT.panel[0],
    ),
]
each_noun = pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: type(noun).__name__)


@each_noun
def test_no_field_can_be_assigned_or_deleted(noun: Any) -> None:
    for field in fields(noun):
        with pytest.raises((FrozenInstanceError, AttributeError)):
            setattr(noun, field.name, None)
        with pytest.raises((FrozenInstanceError, AttributeError)):
            delattr(noun, field.name)


@each_noun
def test_a_noun_survives_pickling_and_copying(noun: Any) -> None:
    for twin in (pickle.loads(pickle.dumps(noun)), copy.copy(noun), copy.deepcopy(noun)):
        assert twin == noun
        assert type(twin) is type(noun)


@each_noun
def test_equal_content_is_equal_and_hashes_alike(noun: Any) -> None:
    twin = copy.deepcopy(noun)
    assert len({noun, twin}) == 1


@pytest.mark.parametrize(
    "mapping", [INSTANCE.fields, INSTANCE.metadata, RESULT.excluded_models, FrozenDict({"a": 1})]
)
def test_a_mapping_cannot_be_changed(mapping: Any) -> None:
    changes: list[Callable[[], object]] = [
        lambda: mapping.__setitem__("new", "x"),
        lambda: mapping.__delitem__(next(iter(mapping))),
        lambda: mapping.update({}),
        lambda: mapping.pop(next(iter(mapping))),
        lambda: setattr(mapping, "_data", {}),
        lambda: delattr(mapping, "_data"),
        lambda: setattr(mapping, "extra", 1),
    ]
    for change in changes:
        with pytest.raises((TypeError, AttributeError)):
            change()


def test_what_the_caller_changes_later_does_not_reach_the_noun() -> None:
    texts, options, context = {"response": ["a"]}, [CriteriaOption("A")], ["x"]
    instance, criteria = Instance(texts), Criteria("c", "d", options, context_fields=context)
    texts["response"].append("b")
    texts["new"] = ["c"]
    options.clear()
    context.append("y")
    assert dict(instance.fields) == {"response": ("a",)}
    assert (criteria.option_names, criteria.context_fields) == (("A",), ("x",))


def test_a_frozen_mapping_reads_like_a_dict() -> None:
    mapping = FrozenDict({"b": 1, "a": 2})
    assert (mapping["a"], list(mapping), len(mapping), mapping.get("c"), dict(mapping)) == (
        2,
        ["b", "a"],
        2,
        None,
        {"b": 1, "a": 2},
    )
    assert mapping == {"a": 2, "b": 1}
    assert repr(mapping) == "{'b': 1, 'a': 2}"


SAME = [
    replace(BALLOT, instance=replace(INSTANCE, id="8")),
    replace(BALLOT, instance=replace(INSTANCE, metadata={"source": "y"})),
    replace(BALLOT, instance=DirectInstance(INSTANCE.fields)),
    replace(BALLOT, temperature=0),
    replace(
        BALLOT,
        criteria=replace(
            CRITERIA, options=[CriteriaOption("PASS", score=1), CriteriaOption("FAIL", score=0)]
        ),
    ),
]
OTHER = [
    replace(BALLOT, model="n"),
    replace(BALLOT, sample=1),
    replace(BALLOT, question=TURNED),
    replace(BALLOT, language="ru"),
    replace(BALLOT, template="other"),
    replace(BALLOT, temperature=1.0),
    replace(BALLOT, seed=0),
    replace(BALLOT, instance=Instance({**INSTANCE.fields, "response": "In 1890."})),
    replace(BALLOT, instance=Instance({**INSTANCE.fields, "contexts": ["ab"]})),
    replace(BALLOT, instance=Instance(dict(reversed([*INSTANCE.fields.items()])))),
    replace(BALLOT, criteria=replace(CRITERIA, description="It names a month.")),
    replace(BALLOT, criteria=replace(CRITERIA, options=CRITERIA.options[::-1])),
    replace(BALLOT, criteria=replace(CRITERIA, context_fields=[])),
    replace(BALLOT, criteria=replace(CRITERIA, to_evaluate_field="user_input")),
]


@pytest.mark.parametrize("ballot", SAME)
def test_ballots_that_ask_the_same_have_one_identity(ballot: Ballot) -> None:
    assert ballot.id == BALLOT.id


def test_ballots_that_ask_something_else_differ() -> None:
    assert len({ballot.id for ballot in [BALLOT, *OTHER]}) == len(OTHER) + 1


def test_two_samples_of_one_prompt_are_two_requests() -> None:
    requests = [
        Request(PROMPT),
        Request(PROMPT, sample=1),
        Request(PROMPT, seed=1),
        Request(PROMPT, temperature=0.5),
    ]
    assert len({request.key for request in requests}) == len(requests)
    assert Request(PROMPT, temperature=0).key == Request(PROMPT, temperature=0.0).key


IDENTITY = """
from adjudge.core.domain.vote import Ballot
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
options = [CriteriaOption("PASS", score=1.0), CriteriaOption("FAIL", score=0.0)]
criteria = Criteria("dates", "It names a year.", options)
instance = Instance({"user_input": "When?", "response": "In 1889.", "contexts": ["a", "b"]})
from adjudge.core.domain.question import question_of
print(Ballot(criteria, instance, question_of(criteria), "aspect", "m").id)
"""


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_identity_is_the_same_in_every_process(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IDENTITY],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == BALLOT.id


def test_half_characters_do_not_hinder_identity() -> None:
    one, other = (
        replace(BALLOT, instance=Instance({"response": f"\ud83d{text}"})).id for text in "ab"
    )
    assert one != other


BAD_INSTANCES: list[tuple[Any, str]] = [
    ({}, "at least one field"),
    (None, "at least one field"),
    ("text", "at least one field"),
    ({"response": None}, "field 'response' must be a string .* not NoneType"),
    ({"response": b"7"}, "field 'response' must be a string .* not bytes"),
    ({"response": b"x"}, "field 'response' must be a string .* not bytes"),
    ({"response": ["a", None]}, "field 'response' must be a string .* not list"),
    ({"response": {"a": "b"}}, "field 'response' must be a string .* not dict"),
    ({"contexts": {"a", "b"}}, "field 'contexts' must be a string .* not set"),
]


@pytest.mark.parametrize(("given", "message"), BAD_INSTANCES)
def test_a_bad_instance_names_its_field(given: Any, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        Instance(given)


BAD_CRITERIA: list[tuple[dict[str, Any], str]] = [
    (
        {"options": [CriteriaOption("A"), CriteriaOption("A")]},
        "'dates' has the option 'A' twice",
    ),
    ({"options": [CriteriaOption(" ")]}, "'dates' has an option without a name"),
    ({"options": [CriteriaOption(1)]}, "'dates' has an option without a name"),  # type: ignore[arg-type]
    ({"options": ["A", "B"]}, "'dates' has an option without a name"),
    ({"context_fields": "user_input"}, "context_fields of criterion 'dates'"),
    (
        {"examples": [CriteriaExample({"response": "x"}, "MAYBE")]},
        "example of criterion 'dates' has the option 'MAYBE', .* PASS, FAIL",
    ),
]


def test_options_may_be_left_out_where_responses_are_compared() -> None:
    assert (
        Criteria("longer", "Which is longer?").options,
        Criteria("longer", "Which is longer?").option_names,
    ) == ((), ())
    assert replace(Criteria("longer", "Which is longer?"), name="other").options == ()


@pytest.mark.parametrize(("change", "message"), BAD_CRITERIA)
def test_bad_criteria_name_themselves_and_what_is_wrong(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(SetupError, match=message):
        replace(CRITERIA, **change)


@pytest.mark.parametrize("option", ["PASS", "FAIL", "tie"])
def test_an_example_has_one_of_the_options_or_is_a_tie(option: str) -> None:
    example = CriteriaExample({"response": "x"}, option)
    assert replace(CRITERIA, examples=[example]).examples == (example,)


def test_an_instance_gives_its_values_by_name() -> None:
    assert (INSTANCE.value("response"), INSTANCE.value("contexts"), INSTANCE.value("missing")) == (
        "In 1889.",
        ("a", "b"),
        None,
    )


def test_a_prompt_as_one_text_keeps_the_order_of_its_turns() -> None:
    assert PROMPT.followed_by(ChatMessage("assistant", "a")).text == "s\n\nu\n\na"
    assert PROMPT.text == "s\n\nu"


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)
    assert RESULT.usage == Usage(2, 40, 6)


def test_a_result_counts_its_votes() -> None:
    assert (RESULT.votes_requested, RESULT.votes_valid, RESULT.model_scores) == (2, 1, {"m": 1.0})


def test_a_result_as_json_holds_what_the_contract_names() -> None:
    shown = json.loads(json.dumps(RESULT.to_dict()))
    assert shown["status"] == "scored"
    assert (
        shown["verdict"],
        shown["score"],
        shown["agreement"],
        shown["tie"],
        shown["fallback"],
    ) == (
        "PASS",
        1.0,
        1.0,
        False,
        None,
    )
    assert (shown["model_scores"], shown["excluded_models"]) == ({"m": 1.0}, {"n": "refused"})
    assert [vote["outcome"] for vote in shown["votes"]] == ["ok", "unreadable"]
    assert shown["votes"][0]["option"] == "PASS"
    assert shown["votes"][1]["reason"] == "empty"


def test_a_vote_speaks_for_its_ballot() -> None:
    vote = replace(VOTE, ballot=replace(BALLOT, model="n", sample=2, question=TURNED))
    assert (vote.model, vote.sample, vote.order, vote.valid) == ("n", 2, (1, 0), True)
    assert not replace(vote, verdict=None).valid


@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=3),
            st.text(max_size=3) | st.lists(st.text(max_size=2), max_size=3),
            min_size=1,
        ),
        min_size=2,
    )
)
def test_the_identity_of_an_instance_is_what_it_says(
    fields: list[dict[str, str | list[str]]],
) -> None:
    """Equal for equal fields in the same order, whatever it is called; different for any other."""
    instances = [
        Instance(each, id=str(number), metadata={"n": number}) for number, each in enumerate(fields)
    ]
    for one in instances:
        for other in instances:
            assert (one.identity == other.identity) == (
                list(one.fields.items()) == list(other.fields.items())
            )


def test_the_identity_is_the_same_in_every_process() -> None:
    assert (
        Instance({"response": "ё", "contexts": ["a", "b"]}).identity
        == "2a69177dbe5b4c5228001b1b8bb002f9"
    )
    assert Instance({"response": "\ud800"}).identity


def test_a_request_is_found_in_caches_that_older_versions_wrote() -> None:
    request = Request(
        Prompt((ChatMessage("user", "x é"),), 1),
        schema={"a": [1, 2.0]},
        temperature=1.0,
        labels=("a",),
        sample=2,
    )
    assert request.key == "2e262489add08022a24abfe1a5b2d3688c69e37e34673b4d26d051c0ea828164"


def test_a_number_that_names_an_instance_is_kept_as_text() -> None:
    assert Instance({"response": "x"}, id=cast(str, 5)).id == "5"
