"""``per: topic``: a model says which messages open a topic, and each topic is judged by itself."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from adjudge import Run
from adjudge.core.domain.repetition import unit_of
from adjudge.errors import SetupError
from adjudge.runs.diff import Pair, run_diff
from adjudge.runs.eval_file import load_eval
from adjudge.runs.execute import estimate, execute
from adjudge.runs.folder import records_of
from adjudge.runs.plan import resolve
from adjudge.runs.results.pairing import pairing_message
from support.commands import adjudge

MODEL = """
import json, re
from pathlib import Path

log = Path(__file__).with_name("log.jsonl")

def ask(prompt):
    material = prompt[max(prompt.rindex("The material:") if "The material:" in prompt else 0,
                          prompt.rindex("Материал") if "Материал" in prompt else 0):]
    judged = re.findall(r'field="response">\\n(.*?)\\n</data', material, re.S)[-1]
    segments = "topic_change" in prompt
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps([segments, judged], ensure_ascii=False) + "\\n")
    if "GARBLED" in judged and segments:
        return "who knows"
    options = ("New topic", "Same topic") if "New topic" in prompt else ("Новая тема", "Та же тема")
    if segments:
        option = options[0] if "NEW" in judged else options[1]
    else:
        option = "Resolved" if "Resolved" in prompt else "Решено"
    return json.dumps({"explanation": "message 4", "selected_option": option}, ensure_ascii=False)
"""


def chat(*asked: str) -> str:
    return json.dumps(
        [
            {"role": role, "content": text}
            for question in asked
            for role, text in (("user", question), ("assistant", "Done."))
        ],
        ensure_ascii=False,
    )


def write(folder: Path, *chats: str, language: str = "en", per: str = "topic") -> Path:
    folder.mkdir(exist_ok=True)
    rows = (f'{{"id": "r{n}", "messages": {text}}}\n' for n, text in enumerate(chats))
    (folder / "rows.jsonl").write_text("".join(rows), encoding="utf-8")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    path = folder / "eval.yaml"
    path.write_text(
        f"data: rows.jsonl\nlanguage: {language}\nmodels: model.py:ask\n"
        f"judges:\n  - {{kind: direct, per: {per}, criteria: [topic_resolved]}}\n",
        encoding="utf-8",
    )
    return path


def judged(path: Path) -> dict[str, tuple[str, str | None, str]]:
    folder = path.parent / "run"
    with execute(resolve(load_eval(path), folder=folder)) as events:
        for _ in events:
            pass
    return {
        str(one.id): (one.status, one.verdict, str(one.fields.get("response")))
        for one in records_of(folder)
        if one.status != "skipped"
    }


def asked(path: Path) -> Counter[tuple[bool, str]]:
    lines = path.with_name("log.jsonl").read_text(encoding="utf-8").splitlines()
    return Counter(tuple(json.loads(line)) for line in lines)


@pytest.mark.parametrize(("language", "option"), [("en", "Resolved"), ("ru", "Решено")])
def test_topics_are_judged_apart_with_the_numbers_of_messages(
    tmp_path: Path, language: str, option: str
) -> None:
    text = chat("Cancel it.", "Why?", "NEW address?", "", "thanks")
    path = write(tmp_path, text, chat("Hi."), language=language)
    found = judged(path)
    names = ("r0 topic 1", "r0 topic 2", "r1 topic 1")
    assert {name: one[:2] for name, one in found.items()} == dict.fromkeys(
        names, ("scored", option)
    )
    assert found["r0 topic 1"][2].splitlines()[-1] == "[4] assistant: Done."
    assert found["r0 topic 2"][2].startswith("[5] user: NEW address?\n[6] assistant")
    questions = [text for (segments, text) in asked(path) if segments]
    # the empty message opens nothing; the others are asked about at the same time
    assert sorted(questions) == ["NEW address?", "Why?", "thanks"]
    before = asked(path)
    assert set(before.values()) == {1}  # each message is asked about once, for all topics
    judged(path)
    assert asked(path) == before


def test_a_lost_answer_about_a_bound_is_no_verdict(tmp_path: Path) -> None:
    path = write(tmp_path, chat("Cancel it.", "GARBLED", "NEW address?", "thanks"))
    found = judged(path)
    # there may be a topic more than it looks: both parts are without a verdict
    assert found["r0 topic 1"][:2] == found["r0 topic 2"][:2] == ("failed", None)
    assert found["r0 topic 3"][:2] == ("scored", "Resolved")
    reasons = [one.reason for one in records_of(tmp_path / "run") if one.status == "failed"]
    assert all(reason and "message 3 opens a new topic" in reason for reason in reasons)
    done = adjudge("run", "eval.yaml", "--trust", "--run", "run", cwd=tmp_path)
    assert done.returncode == 3
    assert "2 without a score" in done.stdout


def test_the_estimate_counts_every_topic(tmp_path: Path) -> None:
    path = write(tmp_path, chat("Cancel it.", "NEW address?", "NEW price?", "NEW size?"))
    most = estimate(resolve(load_eval(path), folder=tmp_path / "run")).calls[1]
    judged(path)
    assert most >= asked(path).total() == 7


def test_topics_of_a_conversation_are_one_unit(tmp_path: Path) -> None:
    path = write(tmp_path, chat("Hi.", "NEW address?"), chat("Hi.", "NEW price?"))
    judged(path)
    units = Counter(unit_of(one) for one in records_of(tmp_path / "run"))
    assert units == {("part_of=r0",): 2, ("part_of=r1",): 2}
    report = Run(tmp_path / "run").report()
    assert any("4 topics of 2 conversations; in intervals" in str(note) for note in report.notes)
    assert [section.summary.to_dict()["of_conversations"] for section in report.sections] == [2]


def test_topics_need_conversations_and_judges_of_one_text(tmp_path: Path) -> None:
    path = write(tmp_path, chat("Hi."))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("topic_resolved", "topic_change"), encoding="utf-8")
    with pytest.raises(SetupError, match="finds the topics"):
        resolve(load_eval(path), folder=tmp_path / "run")
    path.write_text(
        re.sub(r"kind: direct(.*), criteria: .*]", r"kind: rubric\1", text), encoding="utf-8"
    )
    with pytest.raises(SetupError, match="kind direct and aspect"):
        resolve(load_eval(path), folder=tmp_path / "run")


def test_a_conversation_may_begin_with_the_assistant(tmp_path: Path) -> None:
    text = json.dumps([{"role": "assistant", "content": "Hello!"}, *json.loads(chat("Hi."))])
    path = write(tmp_path, text)
    read = path.read_text(encoding="utf-8")
    path.write_text(read.replace("topic_resolved", "answer_relevance"), encoding="utf-8")
    (name,) = judged(path)  # the criterion reads the user's first message
    assert name == "r0 topic 1"


def test_tied_votes_about_a_bound_are_no_answer(tmp_path: Path) -> None:
    path = write(tmp_path, chat("Hi.", "NEW address?"))
    with (tmp_path / "model.py").open("a", encoding="utf-8") as file:
        file.write("def other(prompt):\n    return ask(prompt.replace('NEW', 'OLD'))\n")
    read = path.read_text(encoding="utf-8")
    path.write_text(read.replace("model.py:ask", "[model.py:ask, model.py:other]"))
    assert [one[0] for one in judged(path).values()] == ["failed", "failed"]
    reasons = {one.reason for one in records_of(tmp_path / "run")}
    assert any("the votes are tied" in str(reason) for reason in reasons)


def test_only_topics_with_the_same_messages_are_paired(tmp_path: Path) -> None:
    folders = []
    for name, mark in (("one", "NEW"), ("two", "OLD")):
        chats = [chat("Hi.", "NEW a", "NEW b"), chat("Hi.", "OLD a", "NEW b"), chat("Bye.")]
        path = write(tmp_path / name, *chats)
        model = path.with_name("model.py")
        text = model.read_text(encoding="utf-8").replace('"NEW" in judged', f'"{mark}" in judged')
        model.write_text(text, encoding="utf-8")
        judged(path)
        folders.append(str(path.parent / "run"))
    one, two = folders
    with run_diff(one, two) as diff:
        (line,) = diff.lines()
        pairs = {names_of_pair(pair) for pair in diff.pairs(line)}
        found = diff.pairing(line)
        assert "other messages" in str(pairing_message(found))
    # one run: 1–2, 3–4, 5–6 and 1–4, 5–6; the other: 1–6 and 1–2, 3–6
    scored = {pair for pair in pairs if "messages" in pair[0]}
    assert scored == {("r2 messages 1–2", "r2 messages 1–2")}
    assert found.topics_alone == (5, 3)
    assert found.to_dict()["topics_of_other_messages"] == [5, 3]


def names_of_pair(pair: Pair) -> tuple[str, str]:
    return str(pair.before.id), str(pair.after.id)


@pytest.mark.parametrize("key", ["named", "unnamed", "column"])
def test_topics_are_paired_by_their_messages_whatever_names_the_rows(
    tmp_path: Path, key: str
) -> None:
    folders = []
    for name, mark in (("one", "NEW"), ("two", "LATER")):
        path = write(tmp_path / name, chat("Hi.", "NEW a", "NEW LATER b"))
        rows = path.with_name("rows.jsonl")
        if key == "unnamed":
            rows.write_text(rows.read_text(encoding="utf-8").replace('"id"', '"x"'))
        model = path.with_name("model.py")
        text = model.read_text(encoding="utf-8").replace('"NEW" in judged', f'"{mark}" in judged')
        model.write_text(text, encoding="utf-8")
        judged(path)
        folders.append(str(path.parent / "run"))
    one, two = folders
    with run_diff(one, two, id="id" if key == "column" else None) as diff:
        spans = [
            tuple(text.rpartition(" ")[2] for text in names_of_pair(pair))
            for pair in diff.pairs(diff.lines()[0])
        ]
    # 1–2, 3–4, 5–6 against 1–4, 5–6
    assert [pair for pair in spans if any("–" in span for span in pair)] == [("5–6", "5–6")]
