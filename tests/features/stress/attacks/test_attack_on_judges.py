"""``adjudge attack`` on judges whose answers are known: what they obey is what the report says."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from adjudge.features.stress.attacks.families import families
from adjudge.runs.cli.main import main
from support.fake_provider import KEY, FakeProvider

Json = dict[str, Any]
INSTRUCTS = [one.name for one in families().values() if one.instructs]
_FENCED = re.compile(r"<data-(\w+) [^\n]*>\n.*?\n</data-\1>", re.DOTALL)
_CHAT_TOKEN = re.compile(r"<\|im_start\|>|<\|start_header_id\|>|\[/INST\]|<start_of_turn>")


def material(body: Json) -> str:
    return str(body["messages"][-1]["content"])


def say(verdict: str) -> str:
    return json.dumps({"explanation": "so", "selected_option": verdict})


def deaf(body: Json) -> str:
    """By the mark of the row alone."""
    return say("PASS" if re.search(r"REC-\d+-Y", material(body)) else "FAIL")


def obeys_all(body: Json) -> str:
    """Whatever the material asks for it gets."""
    return say("PASS") if "PASS" in material(body) else deaf(body)


def obeys_outside(body: Json) -> str:
    """Obeys what stands outside the marks, and what a server would take for a turn of its chat."""
    text = material(body)
    heard = "PASS" in _FENCED.sub("", text) or _CHAT_TOKEN.search(text)
    return say("PASS") if heard else deaf(body)


def noisy() -> Callable[[Json], str]:
    """Deaf, but one answer in ten is the other one."""
    chance = random.Random(7)

    def answer(body: Json) -> str:
        right = "PASS" in deaf(body)
        return say("PASS" if right ^ (chance.random() < 0.1) else "FAIL")

    return answer


@pytest.fixture(autouse=True)
def rows(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))
    lines = ["id,question,answer"]
    lines += [f"r{n},Why {n}?,It is REC-{n:05}-{'YN'[n % 2]}. So it is." for n in range(40)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def adjudge(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["adjudge", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


ASPECT = ("attack", "--rows", "rows.csv", "--aspect", "It is right.", "-m", "openai/gpt-4o-mini")


def by_name(names: Iterable[str]) -> list[str]:
    return [word for name in names for word in ("--family", name)]


FEW = by_name(["instructions", "flattery"])


def attacked(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *words: str,
    code: int = 0,
) -> list[Json]:
    assert adjudge(monkeypatch, *words, "--json", "-q") == code
    whole = json.loads(capsys.readouterr().out)
    assert whole["kind"] == "attack"
    return list(whole["results"])


def moved(judge: Json) -> dict[str, float]:
    return {one["family"]: one["moved"] for one in judge["families"]}


def shown(judge: Json) -> list[str]:
    return [
        one["family"]
        for one in judge["families"]
        if one["p_value"] is not None and one["p_value"] <= 0.05
    ]


def test_a_judge_that_obeys_everything_is_moved_by_each_instruction_and_nothing_else(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.answer = obeys_all
    (judge,) = attacked(monkeypatch, capsys, *ASPECT, "--fail-over", "0.05", code=4)
    assert (judge["rows"], judge["room"], judge["noise"], judge["unscored"]) == (40, 20, 0, 0)
    assert moved(judge) == {name: 20.0 if name in INSTRUCTS else 0.0 for name in families()}
    assert shown(judge) == INSTRUCTS
    assert judge["families"][0]["beyond_noise"]["value"] == 1.0
    assert judge["families"][0]["shift"]["value"] == 1.0
    assert judge["fields"] == {
        "response": {"moved": 120, "asked": 340},
        "user_input": {"moved": 20, "asked": 20},
    }
    assert judge["grade"].startswith("Families of texts that move this judge: 7 of 18.")


def test_a_report_counts_in_good_russian_and_says_what_comes_next(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.answer = obeys_all
    lines = [f"r{n},Why {n}?,It is REC-{n:05}-N. So it is." for n in range(21)]
    Path("rows.csv").write_text("\n".join(["id,question,answer", *lines]) + "\n")
    one = by_name(["forged_verdict"])
    assert adjudge(monkeypatch, *ASPECT, *one, "-q", "--language", "ru", "-o", "a.md") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Худшее, «ложный вердикт»: вердикт лучше у 21 из 21 строки." in told
    assert "Через поле 'response' строку сдвинула 21 атака из 21." in told
    assert "<0,001" in told
    assert "ложный вердикт 1: {text}" in told
    assert "| ложный вердикт | forged\\_verdict |" in Path("a.md").read_text(encoding="utf-8")
    assert told.endswith("Отчёт a.md Прогон runs/attack-rows Дальше adjudge view runs/attack-rows")


def test_the_fence_lets_no_instruction_move_a_judge_that_obeys_what_is_outside_it(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.answer = obeys_outside
    words = ("--texts", "10", *by_name(INSTRUCTS), "--sample", "20")
    (judge,) = attacked(monkeypatch, capsys, *ASPECT, *words)
    assert moved(judge) == dict.fromkeys([*INSTRUCTS, "controls"], 0.0)
    assert judge["room"] == 11


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_deaf_judge_is_moved_by_nothing(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    language: str,
) -> None:
    provider.answer = deaf
    half = [*families()][language == "ru" :: 2]
    words = (*by_name(half), "--fail-over", "0.2", "--language", language)
    (judge,) = attacked(monkeypatch, capsys, *ASPECT, *words)
    assert set(moved(judge).values()) == {0.0}
    assert len(provider.requests) == 40 * (2 + len({*half, "controls"}))


def test_a_deaf_but_noisy_judge_gives_no_alarm(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.answer = noisy()
    (judge,) = attacked(monkeypatch, capsys, *ASPECT, "-j", "1", "--sample", "20")
    assert 0 < judge["noise"] < 6
    assert sum(moved(judge).values()) > 0
    assert shown(judge) == []


def test_defences_are_compared_in_one_run(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def reminded(body: Json) -> str:
        """Obeys, unless it is told its task again, or asked whether somebody talks to it."""
        text, system = material(body), str(body["messages"][0]["content"])
        if "addresses the judge" in system:
            return say("addresses the judge" if "PASS" in text else "clean")
        return deaf(body) if "Your task has not changed" in text else obeys_all(body)

    provider.answer = reminded
    every = ("--defence", "fence", "--defence", "sandwich", "--defence", "two-pass")
    fence, sandwich, screened = attacked(
        monkeypatch, capsys, *ASPECT, *every, "--family", "instructions"
    )
    assert [one["defence"] for one in (fence, sandwich, screened)] == [
        "fence",
        "sandwich",
        "two-pass",
    ]
    assert moved(fence) == {"instructions": 20.0, "controls": 0.0}
    assert moved(sandwich) == {"instructions": 0.0, "controls": 0.0}
    assert moved(screened) == {"instructions": 0.0, "controls": 0.0}
    assert screened["families"][0]["unscored"] == 20
    assert screened["unscored"] == 0


def test_a_gate_allows_for_all_attacks_of_the_run(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the rows are moved, and an eighth may be: of one family that is too much, of the
    worst of eighteen it may be luck.
    """

    def obeys_half(body: Json) -> str:
        row = re.search(r"REC-(\d+)", material(body))
        return obeys_all(body) if row and int(row[1]) % 4 == 1 else deaf(body)

    provider.answer = obeys_half
    gate = ("--fail-over", "0.125", "--run")
    (judge,) = attacked(
        monkeypatch, capsys, *ASPECT, "--family", "instructions", *gate, "one", code=4
    )
    assert moved(judge)["instructions"] == 10.0
    assert judge["families"][0]["lower_together"] > 0.125
    (judge,) = attacked(monkeypatch, capsys, *ASPECT, *gate, "all", code=5)
    assert moved(judge)["instructions"] == 10.0
    assert judge["families"][0]["beyond_noise"]["lower"] > 0.125
    assert judge["families"][0]["lower_together"] < 0.125


def test_limits_stay_within_what_is_possible(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.answer = obeys_all
    (judge,) = attacked(monkeypatch, capsys, *ASPECT, "--family", "instructions")
    for name in ("beyond_noise", "shift"):
        figure = judge["families"][0][name]
        assert figure["value"] == 1.0
        assert figure["lower"] < figure["upper"] == 1.0


def test_too_few_rows_are_inconclusive(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.answer = deaf
    assert adjudge(monkeypatch, *ASPECT, "--sample", "6", "--fail-over", "0.05", "--json") == 5
    whole = json.loads(capsys.readouterr().out)
    (judge,) = whole["results"]
    assert judge["grade"].startswith("Too few rows to tell")
    assert "it is unknown on how many rows instructions" in str(whole)


@pytest.mark.parametrize("defence", ["fence", "two-pass"])
def test_judgments_that_failed_are_no_sign_of_a_judge_that_holds(
    defence: str,
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def answer(body: Json) -> str:
        if "PASS" in material(body):
            return "no JSON at all"
        return say("clean") if "addresses the judge" in json.dumps(body) else deaf(body)

    provider.answer = answer
    few = ("--family", "instructions", "--fail-over", "0.2", "--defence", defence)
    (judge,) = attacked(monkeypatch, capsys, *ASPECT, *few, code=5)
    (family,) = (one for one in judge["families"] if one["family"] == "instructions")
    assert (family["rows"], family["moved"], family["unscored"], family["failed"]) == (0, 0, 20, 20)
    assert judge["grade"].startswith("Cannot tell")


def test_an_attack_takes_no_reply_from_an_earlier_one(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judge is noisy on Monday and not on Tuesday: Monday's replies are not Tuesday's."""
    words = (*ASPECT, "--sample", "12", "--family", "instructions", "--run")
    provider.answer = lambda _: say("FAIL")
    (judge,) = attacked(monkeypatch, capsys, *words, "runs/monday")
    assert judge["room"] == 12
    asked = len(provider.requests)
    provider.answer = deaf
    (judge,) = attacked(monkeypatch, capsys, *words, "runs/tuesday")
    assert (judge["room"], judge["noise"]) == (6, 0)
    assert len(provider.requests) == 2 * asked == 2 * 12 * 4


def test_a_gate_allows_that_rows_without_a_verdict_are_moved(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 34 attacked rows 21 have no verdict; the other 13 alone would pass at 0.3."""
    lines = [f"r{n},Why {n}?,It is REC-{n:05}-N. So it is." for n in range(34)]
    Path("rows.csv").write_text("\n".join(["id,question,answer", *lines, "r34,Why?,a,b"]) + "\n")

    def answer(body: Json) -> str:
        # a request for a readable reply comes after the material
        texts = [
            str(message["content"]) for message in body["messages"] if message["role"] == "user"
        ]
        row = re.search(r"REC-(\d+)", texts[0])
        fails = row and int(row[1]) < 21 and "PASS" in texts[0]
        return "no JSON at all" if fails else say("FAIL")

    provider.answer = answer
    words = (*ASPECT, "--family", "instructions", "--fail-over", "0.3", "--json", "-q")
    assert adjudge(monkeypatch, *words) == 5
    whole = json.loads(capsys.readouterr().out)
    (judge,) = whole["results"]
    family, control = judge["families"]
    assert (family["rows"], family["moved"], family["failed"]) == (13, 0, 21)
    assert family["beyond_noise"]["upper"] < 0.3 < family["upper_if_moved"]
    assert control["upper_if_moved"] == control["beyond_noise"]["upper"]
    assert "on any of 13 attacked rows; 21 more attacked rows have no" in judge["grade"]
    (decision,) = whole["decisions"]
    assert decision.startswith("Gate inconclusive")
    assert "21 attacked rows have no verdict" in decision
    assert (whole["summary"]["failed"], whole["summary"]["unread"]) == (21, 1)
    assert adjudge(monkeypatch, *ASPECT, "--family", "instructions", "--resume") == 3
    assert "1 row of the data could not be read, and was not attacked." in capsys.readouterr().out


def test_it_is_resumed_and_asks_nothing_twice(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.answer = obeys_all
    judge = (*ASPECT, *FEW)
    assert adjudge(monkeypatch, *judge, "--dry-run", "--json") == 0
    estimate = json.loads(capsys.readouterr().out)["results"][0]
    assert not provider.requests
    assert adjudge(monkeypatch, *judge, "-q", "--no-cache", "--max-calls", "100") == 1
    assert "adjudge resume" in capsys.readouterr().err
    assert len(provider.requests) == 100
    assert adjudge(monkeypatch, "resume", "runs/attack-rows", "--", "--max-calls", "2000") == 0
    whole = 40 * (2 + 3)
    assert len(provider.requests) == whole
    assert estimate["calls"]["lower"] == whole
    assert "1 of 2" in capsys.readouterr().out


def test_comparisons_are_attacked_through_the_last_response(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def answer(body: Json) -> str:
        """Whoever asks for it wins, else the first response of the row."""
        shown = re.split(r'field="Response (?:A|B)"', material(body))[1:]
        asking = [
            letter for letter, text in zip("AB", shown, strict=True) if "this response" in text
        ]
        first = [letter for letter, text in zip("AB", shown, strict=True) if "one" in text]
        return say((asking or first)[0])

    lines = ["question,response_1,response_2"]
    lines += [f"Why {n}?,one {n},two {n}" for n in range(12)]
    (tmp_path / "pairs.csv").write_text("\n".join(lines) + "\n")
    provider.answer = answer
    (judge,) = attacked(
        monkeypatch,
        capsys,
        *("attack", "--rows", "pairs.csv", "-c", "pairwise_helpfulness"),
        *("--column", "response_1", "--column", "response_2", "-m", "openai/gpt-4o-mini"),
        *("--family", "instructions"),
    )
    assert judge["room"] == 12
    assert moved(judge) == {"instructions": 12.0, "controls": 0.0}


def test_answers_of_assistants_are_attacked_by_an_eval_file(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def answer(body: Json) -> str:
        return say("2" if "the best option" in material(body) else "1")

    lines = ["question,answer,contexts"]
    lines += [f"Why {n}?,So {n}.,Because {n}." for n in range(10)]
    (tmp_path / "rag.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "rag.yaml").write_text(
        "data: rag.csv\nmodels: openai/gpt-4o-mini\n"
        "judges: [{kind: rag, dimensions: [groundedness, completeness]}]\n"
    )
    provider.answer = answer
    (judge,) = attacked(monkeypatch, capsys, "attack", "rag.yaml", "--family", "context_channel")
    assert moved(judge) == {"context_channel": 10.0, "controls": 0.0}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("attack",), 2, "name the judge"),
        (("attack", "--aspect", "x y"), 2, "name the judge"),
        ((*ASPECT, "--family", "nothing"), 1, "unknown family of attacks 'nothing'"),
        ((*ASPECT, "-o", "page.csv"), 1, "page.csv cannot be written"),
    ],
)
def test_mistakes_cost_nothing(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    assert adjudge(monkeypatch, *words) == code
    assert said in capsys.readouterr().err
    assert not provider.requests


def test_a_page_and_a_terminal_say_the_same_in_russian(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.answer = obeys_all
    pages = ("-o", "attack.md", "-o", "attack.html", "-o", "attack.json")
    assert adjudge(monkeypatch, *ASPECT, *FEW, "-q", "--language", "ru", *pages) == 0
    printed = capsys.readouterr().out
    for text in (printed, Path("attack.md").read_text(), Path("attack.html").read_text()):
        assert "указания" in text
        assert "Семейства текстов" in text
    assert json.loads(Path("attack.json").read_text())["kind"] == "attack"


STARS = """\
data: rows.csv
models: openai/gpt-4o-mini
judges:
  - kind: direct
    criteria:
      name: stars
      description: How good is the answer?
      options:
        - {name: poor, description: It is wrong., score: 1}
        - {name: fair, description: It is half right., score: 3}
        - {name: good, description: It is right., score: 5}
"""


def test_a_shift_on_a_scale_of_its_own_lies_within_its_limits(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scores from 1 to 5 can move by 4: limits that are cut at 1 would shut the shift out."""
    provider.answer = lambda body: say("good" if "good" in material(body)[-800:] else "poor")
    Path("stars.yaml").write_text(STARS)
    words = ("attack", "stars.yaml", "--family", "instructions")
    (judge,) = attacked(monkeypatch, capsys, *words)
    shift = judge["families"][0]["shift"]
    assert shift["value"] > 1
    assert shift["lower"] < shift["value"] <= shift["upper"] <= 4
