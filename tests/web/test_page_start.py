"""A run started from the page: real processes, a real server of models, a real ledger."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
import yaml
from starlette.datastructures import QueryParams

from adjudge import PairwiseJudge
from adjudge.core.domain.json_types import object_in
from adjudge.core.ledger.file import FILE, connect, write_meta
from adjudge.runs.eval_file import load_eval
from adjudge.runs.folder import run_info
from adjudge.runs.plan import resolve
from adjudge.web.guard import Access
from adjudge.web.plan import FIELDS, plan_of
from support.asking import wait_until
from support.fake_provider import KEY, FakeProvider, Status, never
from support.page import Page, served

MODEL = "openai/gpt-4o-mini"
ASKED = {"data": "rows.csv", "question": "It is short.", "model": MODEL}
ROWS = 12
SAMPLES = Path(__file__).parent.parent / "samples" / "imports"


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as found:
        yield found


@pytest.fixture
def home(tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / ".cache"))
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))
    provider.latency = 0
    (tmp_path / "rows.csv").write_text(
        "id,answer\n" + "".join(f"r{n},REC-{n:05}-Y\n" for n in range(ROWS))
    )
    (tmp_path / "runs").mkdir()
    return tmp_path


@pytest.fixture
def page(home: Path) -> Iterator[Page]:
    with served(home / "runs", home=home, models=[MODEL, "openai/of-our-own"]) as found:
        yield found


def begin(page: Page, **more: str) -> str:
    answer = page.post("/start", **{**ASKED, **more})
    assert answer.status == 202, answer.text
    return page.led_to(answer)


def ended(page: Page, job: str) -> dict[str, object]:
    assert wait_until(lambda: not page.data(job)["job"]["running"], 120)
    found: dict[str, object] = page.data(job)["job"]
    return found


def test_an_estimate_then_a_run_that_comes_to_its_end(page: Page, home: Path) -> None:
    estimate = page.get(f"/start?{urlencode({**ASKED, 'do': 'estimate'})}").text
    assert f"<dt>Judgments</dt><dd>{ROWS}</dd>" in estimate
    assert "Start the run" in estimate
    job = begin(page, name="first", usd="0.5", total=str(ROWS))
    assert page.server.site.spending.remaining <= 0.5
    found = ended(page, job)
    assert found["fine"], found
    assert (found["done"], found["total"]) == (ROWS, ROWS)
    assert run_info(home / "runs" / "first").state == "complete"
    assert 0 < page.server.site.spending.spent < 0.01
    assert page.server.site.spending.remaining == pytest.approx(1 - page.server.site.spending.spent)
    assert page.get(job).status == page.get(page.run("first")).status == 200
    late = page.post(f"{job}/stop")  # from a tab that has not heard yet
    assert "Finished." in late.text
    assert "Stopped" not in late.text


def test_an_estimate_that_is_asked_for_again_and_again_starts_few_processes(page: Page) -> None:
    """Every reload of the address started one more."""
    address, most, over = f"/start?{urlencode({**ASKED, 'do': 'estimate'})}", 0, threading.Event()

    def look() -> None:
        nonlocal most
        while not over.wait(0.02):
            most = max(most, sum(b"--dry-run" in words for words in children()))

    looking = threading.Thread(target=look)
    looking.start()
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: page.get(address), range(12)))
    over.set()
    looking.join()
    assert 1 <= most <= 2
    assert {answer.status for answer in answers} == {200, 400}
    assert all(
        "estimates are under way" in answer.text for answer in answers if answer.status == 400
    )
    assert page.get(address).status == 200


def test_nobody_waits_for_an_estimate_when_the_page_ends(home: Path) -> None:
    with served(home / "runs", home=home, models=[MODEL]) as page, ThreadPoolExecutor(1) as pool:
        pool.submit(page.get, f"/start?{urlencode({**ASKED, 'do': 'estimate'})}")
        assert wait_until(lambda: any(b"--dry-run" in words for words in children()), 30)
        page.server.site.jobs.close()
        assert wait_until(lambda: not any(b"--dry-run" in words for words in children()), 2)


def children() -> Iterator[bytes]:
    """The words of every process that this one started."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(file.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                yield (file.parent / "cmdline").read_bytes()


def test_a_run_is_stopped_and_resumed_and_nothing_is_asked_twice(
    page: Page, home: Path, provider: FakeProvider
) -> None:
    provider.latency = 0.3
    before = len(provider.requests)
    (home / "adjudge.toml").write_text("max_concurrency = 2\n")
    job = begin(page, name="stopped", usd="0.5")
    assert wait_until(lambda: len(provider.requests) >= before + 2, 30)
    assert page.post(f"{job}/stop").status == 200
    found = ended(page, job)
    assert page.data(page.run("stopped"))["resumable"]
    assert "can be resumed" in page.get(job).text
    assert "can be resumed" in page.get(page.run("stopped")).text
    assert found["stopped"]
    assert not found["fine"]
    assert run_info(home / "runs" / "stopped").state.startswith("stopped")
    provider.latency = 0
    again = page.post(f"{page.run('stopped')}/resume", usd="0.5")
    assert again.status == 202, again.text
    found = ended(page, page.led_to(again))
    assert found["fine"], found
    assert len(provider.requests) - before == ROWS


def test_a_killed_page_leaves_a_run_that_can_be_resumed(home: Path, provider: FakeProvider) -> None:
    provider.latency = 0.3
    (home / "adjudge.toml").write_text("max_concurrency = 2\nprices = 'prices.yaml'\n")
    (home / "prices.yaml").write_text("openai/of-our-own: {input: 1, output: 2}\n")
    command = [
        sys.executable,
        "-m",
        "adjudge",
        "view",
        "runs",
        "--no-open",
        "-m",
        "openai/of-our-own",
    ]
    before = len(provider.requests)
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            address = urlsplit(process.stdout.readline().strip())
            access = Access(address.port or 0, address.query.removeprefix("token="))
            begin(Page(access), name="orphan", usd="0.5", model="openai/of-our-own")
            assert wait_until(lambda: len(provider.requests) >= before + 2, 30)
        finally:
            process.send_signal(signal.SIGKILL)
    folder = home / "runs" / "orphan"
    assert wait_until(lambda: run_info(folder).state.startswith("stopped"), 30)
    asked = len(provider.requests) - before
    assert asked < ROWS
    provider.latency = 0
    done = subprocess.run(
        [sys.executable, "-m", "adjudge", "resume", str(folder)],
        cwd=home,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(provider.requests) - before == ROWS


def test_the_files_below_the_folder_are_offered_and_no_others(
    page: Page, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.csv").write_text("answer\nsecret\n")
    (home / "linked.csv").symlink_to(outside / "secret.csv")
    (home / "linked").symlink_to(outside, target_is_directory=True)
    (home / "deeper").mkdir()
    (home / "deeper" / "more.jsonl").write_text('{"answer": "x"}\n')
    names = [one["name"] for one in page.data("/start")["files"]]
    assert names == ["deeper/more.jsonl", "rows.csv"]
    assert page.data("/start?data=rows.csv")["chosen"]["columns"] == ["id", "answer"]
    for name in (
        "linked.csv",
        "linked/secret.csv",
        "../outside/secret.csv",
        str(outside / "secret.csv"),
        "runs",
        "/etc/passwd",
    ):
        assert page.get(f"/start?{urlencode({'data': name})}").status == 400
        assert page.post("/start", **{**ASKED, "data": name}, name="x").status == 400
    assert not (home / "runs" / "x").exists()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"model": "openai/gpt-4o"}, "may not be asked from this page"),
        ({"model": ""}, "may not be asked"),
        ({"model": "openai/of-our-own"}, "no price for model openai/of-our-own"),
        ({"question": ""}, "say what to judge by"),
        ({"question": "x" * 3000}, "at most 2000"),
        ({"criteria": "no-such"}, "unknown criteria"),
        ({"name": "../out"}, "not a valid run name"),
        ({"name": "a/b"}, "not a valid run name"),
        ({"usd": "2"}, "more than the page has left"),
        ({"usd": "-1"}, "number of dollars"),
        ({"usd": "nan"}, "number of dollars"),
        ({"votes": "0"}, "votes must be"),
        ({"bar": "1.2"}, "number from 0 to 1, not"),
        ({"bar": "nan"}, "from 0 to 1"),
        ({"kind": "pairwise", "bar": "0.5"}, "choose the two compared columns"),
        ({"kind": "rag"}, "kind must be"),
    ],
)
def test_what_may_not_be_started_is_refused_in_words(
    page: Page, home: Path, changed: dict[str, str], why: str
) -> None:
    answer = page.post("/start", **{**ASKED, **changed})
    assert answer.status == 400, answer.text
    assert why in answer.text
    assert list((home / "runs").iterdir()) == []
    assert page.server.site.spending.remaining == 1


def test_recent_files_are_cards_with_their_columns(page: Page, home: Path) -> None:
    (home / "chats.jsonl").write_text('{"question": "a", "text": "b"}\n')
    for number in range(9):
        old = home / f"old{number}.csv"
        old.write_text("answer\nx\n")
        os.utime(old, (number, number))
    (home / "table.json").write_text('[{"answer": "x"}]')
    os.utime(home / "table.json", (100, 100))
    recent = page.data("/start")["recent"]
    columns = {card["name"]: card["columns"] for card in recent}
    assert len(recent) == 8 and len(page.data("/start")["files"]) == 12
    assert columns["chats.jsonl"] == ["question", "text"]
    assert columns["rows.csv"] == ["id", "answer"]
    assert columns["table.json"] == []  # it would have to be read as a whole
    assert "old0.csv" not in columns
    assert "All files" in page.get("/start").text


def test_columns_are_chosen_from_the_header(page: Page, home: Path) -> None:
    (home / "rows.csv").write_text("key,question,reply,gold\nr1,q,Fine.,g\nr2,q,Good.,g\n")
    guesses = {one["name"]: one["guess"] for one in page.data("/start?data=rows.csv")["fields"]}
    assert guesses == {name: "question" if name == "user_input" else "" for name in FIELDS}
    form = {
        **ASKED,
        "as_response": "reply",
        "as_id": "key",
        "as_user_input": "-",
        "as_contexts": "",
    }
    plan = plan_of(page.server.site, QueryParams(form))
    (home / "eval.yaml").write_text(plan.to_eval())
    data = load_eval(home / "eval.yaml").data
    assert dict(data.columns) == {"response": "reply", "id": "key", "user_input": ""}
    estimate = page.data(f"/start?{urlencode({**form, 'do': 'estimate'})}")
    assert estimate["estimate"]["judgments"] == 2


@pytest.mark.parametrize(
    ("form", "gates"),
    [
        ({}, {}),
        ({"bar": "0.8"}, {"fail_under": 0.8}),
        ({"bar": " 0,75 ", "sure": "1"}, {"fail_under": 0.75, "confidence": 0.95}),
        (
            {"kind": "pairwise", "bar": "0.5", "compared": ["old", "new"]},
            {"fail_under": {"new": 0.5}},
        ),
    ],
)
def test_a_gate_of_the_form_is_one_of_the_eval_file(
    page: Page, form: dict[str, str | list[str]], gates: dict[str, object]
) -> None:
    address = urlencode({**ASKED, **form}, doseq=True)
    plan = plan_of(page.server.site, QueryParams(address))
    assert yaml.safe_load(plan.to_eval()).get("gates", {}) == gates


def test_the_estimate_alone_is_a_part_of_the_page(page: Page) -> None:
    form = urlencode({**ASKED, "do": "estimate", "part": "estimate", "name": "mine"})
    answer = page.get(f"/start?{form}", hx_request="true")
    assert answer.status == 200 and "<html" not in answer.text
    assert f"<dt>Judgments</dt><dd>{ROWS}</dd>" in answer.text
    assert 'value="mine"' in answer.text and "Start the run" in answer.text
    wrong = page.get(f"/start?{form}&bar=7", hx_request="true")
    assert wrong.status == 400 and wrong.text.startswith('<p class="note"')


def test_a_job_shows_the_figures_so_far_and_why_rows_failed(
    page: Page, provider: FakeProvider
) -> None:
    provider.faults = lambda record, _: Status(400, "flagged by a filter") if record < 2 else None
    try:
        job = begin(page, name="filtered", usd="0.5", bar="0.9")
        found = ended(page, job)
    finally:
        provider.faults = never
    assert (found["fine"], found["unscored"]) == (True, 2)
    text = page.get(f"{job}?part=figures").text
    assert "flagged by a filter" in text and '<details class="figures-more failures" open>' in text
    assert "Mean score" in text and f"/ {ROWS}" in text and "Gate " in text
    assert "hx-trigger" not in text.split('id="figures"')[0]  # nothing is polled any more


def test_own_criteria_are_offered_and_a_broken_file_says_what_is_wrong(
    page: Page, home: Path
) -> None:
    (home / "tone.yaml").write_text(
        "name: tone\ndescription: Is it kind?\noptions: ['Yes', 'No']\n"
    )
    (home / "broken.yaml").write_text("name: broken\ndescription: Is it?\noptions: 7\n")
    (home / "eval.yaml").write_text(
        "data: rows.csv\njudges:\n- kind: direct\n  name: x\n  description: y\n"
    )
    own = {one["name"]: one["trouble"] for one in page.data("/start?data=rows.csv")["own"]}
    assert own["tone.yaml"] == ""
    assert "options" in own["broken.yaml"]
    assert "eval.yaml" not in own
    form = {"data": "rows.csv", "criteria": "tone.yaml", "model": MODEL, "do": "estimate"}
    estimate = page.data(f"/start?{urlencode(form)}")
    assert estimate["estimate"]["judgments"] == ROWS


def test_a_file_that_cannot_be_judged_says_so_before_anything_is_started(
    page: Page, home: Path
) -> None:
    (home / "rows.csv").write_text("id,colour\n1,red\n")
    answer = page.get(f"/start?{urlencode({**ASKED, 'do': 'estimate'})}")
    assert answer.status == 400
    assert "response" in answer.text


def test_a_file_that_changed_after_the_estimate_is_estimated_again(page: Page, home: Path) -> None:
    version = page.data(f"/start?{urlencode({**ASKED, 'do': 'estimate'})}")["estimate"]["version"]
    (home / "rows.csv").write_text(
        "id,answer\n" + "".join(f"r{n},REC-{n:05}-Y\n" for n in range(1000))
    )
    answer = page.post("/start", **ASKED, name="x", version=version)
    assert answer.status == 400
    assert "has changed since the cost was estimated" in answer.text
    assert list((home / "runs").iterdir()) == []


def test_a_form_that_changed_since_is_estimated_again(page: Page) -> None:
    """Else the progress would count to another total, within a budget for something else."""
    version = page.data(f"/start?{urlencode({**ASKED, 'do': 'estimate'})}")["estimate"]["version"]
    for change in ({"limit": "3"}, {"votes": "2"}, {"question": "It is long."}):
        answer = page.post(
            "/start", **{**ASKED, **change}, name="x", version=version, total=str(ROWS)
        )
        assert (answer.status, "estimate it again" in answer.text) == (400, True)


def test_every_criterion_is_there_on_the_russian_page(page: Page) -> None:
    text = page.get("/start?data=rows.csv", cookie=f"{page.cookie}; adjudge_language=ru").text
    assert "Только на английском" not in text
    assert 'value="conciseness"' in text
    assert 'value="empathy"' in text


@pytest.mark.parametrize(
    "question", ["Коротко?", "conciseness", "{outside}", 'Is it: "a" {{ b }} #c?']
)
def test_a_question_is_a_question_whatever_it_looks_like(
    page: Page, home: Path, tmp_path_factory: pytest.TempPathFactory, question: str
) -> None:
    """A word is not a name of criteria, and a path no file: nothing outside the folder is read."""
    outside = tmp_path_factory.mktemp("outside") / "secret.yaml"
    outside.write_text("name: secret\ndescription: What is secret?\noptions: ['Yes', 'No']\n")
    asked = question.replace("{outside}", str(outside))
    site = page.server.site
    given = {**ASKED, "question": asked}
    plan = plan_of(site, QueryParams(given))
    (home / "eval.yaml").write_text(plan.to_eval())
    (judge,) = resolve(load_eval(home / "eval.yaml")).judges
    (criteria,) = judge.criteria
    assert (criteria.name, criteria.option_names) == (asked, ("Yes", "No"))


@pytest.mark.parametrize(
    ("more", "both"), [({}, True), ({"one_order": "1"}, False), ({"both_orders": "1"}, True)]
)
def test_comparisons_from_the_page_are_asked_in_both_orders(
    page: Page, home: Path, more: dict[str, str], both: bool
) -> None:
    given = {**ASKED, "kind": "pairwise", **more}
    plan = plan_of(page.server.site, QueryParams(given))
    (home / "eval.yaml").write_text(plan.to_eval())
    (ready,) = resolve(load_eval(home / "eval.yaml")).judges
    assert isinstance(ready.judge, PairwiseJudge)
    assert ready.judge.check_positional_bias is both


def test_two_tabs_that_start_a_run_of_one_name_get_one_run(page: Page, home: Path) -> None:
    with ThreadPoolExecutor(4) as tabs:
        answers = list(
            tabs.map(
                lambda _: page.post("/start", **ASKED, name="one", usd="0.1", limit="1"), range(4)
            )
        )
    assert sorted(answer.status for answer in answers) == [202, 400, 400, 400]
    assert all("already" in answer.text for answer in answers if answer.status == 400)
    ended(page, next(page.led_to(answer) for answer in answers if answer.status == 202))
    assert run_info(home / "runs" / "one").state == "complete"


def test_read_only_starts_nothing(home: Path) -> None:
    with served(home / "runs", home=home, models=[MODEL], read_only=True) as page:
        assert page.get("/start").status == 403
        assert page.post("/start", **ASKED).status == 403
        assert "/start" not in page.get("/").text
    assert list((home / "runs").iterdir()) == []


def test_a_run_that_somebody_else_made_is_not_resumed_by_a_click(page: Page, home: Path) -> None:
    """Its command was never given here: it is shown in a terminal first."""
    job = begin(page, name="theirs", usd="0.1", limit="1")
    ended(page, job)
    with connect(home / "runs" / "theirs" / FILE) as ledger:
        kept = object_in(run_info(home / "runs" / "theirs").facts["resume"])
        changed = {**kept, "eval": {**object_in(kept["eval"]), "path": "/elsewhere/eval.yaml"}}
        write_meta(ledger, {"resume": changed, "ended": None})
    answer = page.post(f"{page.run('theirs')}/resume", usd="0.1")
    found = ended(page, page.led_to(answer))
    assert not found["fine"]
    assert "was not created by you" in str(found["message"])


def test_an_empty_folder_leads_to_an_example_run_in_one_step(tmp_path: Path) -> None:
    with served(tmp_path / "runs", home=tmp_path) as page:
        assert "/start/example" in page.get("/").text
        job = page.led_to(page.post("/start/example"))
        running = page.server.site.jobs.find(job.removeprefix("/jobs/"))
        assert "local/smollm2-135m" in str(running.process.args)
        again = page.post("/start/example")
        assert (again.status, "already" in again.text) == (400, True)
        page.post(f"{job}/stop")
    assert load_eval(tmp_path / "example" / "eval.yaml").judges[0].name == "dates"


def test_judgments_of_another_tool_are_imported_in_one_step(tmp_path: Path) -> None:
    (tmp_path / "judged.csv").write_text("id,answer,said\n1,Yes.,PASS\n2,No.,FAIL\n")
    shutil.copy(SAMPLES / "inspect_0.3.285.json", tmp_path / "log.json")
    with served(tmp_path / "runs", home=tmp_path) as page:
        assert "<option>judged.csv</option>" in page.get("/").text
        refused = page.post("/start/import", data="judged.csv")
        assert (refused.status, "judged.csv" in refused.text) == (400, True)
        assert page.post("/start/import", data="../elsewhere.json").status == 400
        assert page.led_to(page.post("/start/import", data="log.json")) == "/"
        assert len(page.data("/")["runs"]) == 1
