"""What the documents show runs as it stands, and what they point to is there.

With ``ADJUDGE_TWINS`` (``make docs``) the commands of a Russian page run also if its English twin
shows the same ones.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

import click
import pytest
import yaml

import adjudge
from adjudge import Reply, Request, ScriptedModel, runs, trust
from adjudge.core.catalog.criteria import read_criteria
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.message import Capabilities, LogprobCalibration
from adjudge.core.gateway import opener as opening
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.gateway.registry import find, is_url
from adjudge.features import generate as strategy
from adjudge.features import rag
from adjudge.features.agents.expectation import read_expectations
from adjudge.features.conversations.scenario import read_scenarios
from adjudge.features.generate.sandbox.no_sandbox import NoSandbox
from adjudge.features.rag.dimensions import read_dimensions
from adjudge.features.starters.command import starters
from adjudge.runs.cli.main import app
from adjudge.runs.eval_file import load_eval
from adjudge.runs.project import find_project
from adjudge.web.proxy import Users

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tools import commands, settings, site  # noqa: E402 - not part of the package

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
RAN = (0, 3, 4, 5)
"""Exit codes of a command that ran, whatever it found."""
ELSEWHERE = ("make ", "docker ", "git ", "export ")
"""What other tests start, the make targets and the Dockerfile; and what is the shell's own."""
UNENDING = ("adjudge models pull", "adjudge serve")
"""What downloads, or serves until it is stopped: its options are read here, and it is run in tests
of its own.
"""
IN_BATCHES = {"--batch", "--on", "runs/nightly"}
"""What needs a provider's batch API, or a cluster, the same way."""
VARIABLES = (
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "VLLM_API_KEY",
    "LITELLM_API_KEY",
    "OPENROUTER_API_KEY",
    "GATEWAY_KEY",
    "MODEL",
)
WHOLE_OBJECT = re.compile(r"\b[A-Z]\w+\(\w+=|<\w+ object at ")


IMPORTS = {
    "inspect.json": "imports/inspect_0.3.285.json",
    "deepeval.json": "imports/deepeval_4.3.1_latest_run_full.json",
    "pandalm.jsonl": "pandalm.jsonl",
}


class Block(NamedTuple):
    """A fenced part of a page."""

    page: str
    number: int
    language: str
    text: str

    @property
    def name(self) -> str:
        """For the list of tests."""
        return f"{self.page}-{self.number}"


def _blocks() -> Iterator[Block]:
    for page in PAGES:
        fences = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.S | re.M)
        yield from (
            Block(str(page.relative_to(ROOT)), number, *fence)
            for number, fence in enumerate(fences, 1)
        )


BLOCKS = list(_blocks())
ENGLISH_ONLY = {
    "design/decisions.md": "for who works on the code",
    "../SECURITY.md": "who reports a weakness writes in English",
    "../training/README.md": "for who trains the embedded model",
}
"""Pages that a Russian reader of the three ways can do without."""


def of(*languages: str) -> list[Block]:
    """The blocks in these languages."""
    return [block for block in BLOCKS if block.language in languages]


def once(*languages: str) -> list[Block]:
    """The blocks in these languages; what two pages show alike, as a page and its Russian twin do,
    once.
    """
    return list({block.text: block for block in of(*languages)}.values())


def _answer(request: Request) -> str | Reply:
    """The first option, the number 3, or a program, as the request asks; of many sentences that
    they are not found.
    """
    if request.labels:
        return Reply(request.labels[0], logprobs=(FrozenDict(dict.fromkeys(request.labels, -1.0)),))
    asked = json.dumps(request.schema or {})
    if '"sentences"' in asked:
        numbers = range(1, request.prompt.text.count('field="sentences ') + 1)
        said = [
            {"number": number, "evidence": [], "selected_option": "not found"} for number in numbers
        ]
        return json.dumps({"sentences": said})
    if '"points": {"type": "array"' in asked:
        labels = re.findall(r"^(\d+[a-z]): ", request.prompt.text, re.MULTILINE)
        points = [{"point": label, "explanation": "", "verdict": "met"} for label in labels]
        return json.dumps({"points": points})
    if "selected_option" in asked:
        return json.dumps(
            {
                "selected_option": json.loads(asked)["properties"]["selected_option"].get(
                    "enum", [1]
                )[0]
            }
        )
    if '"score"' in asked:
        return json.dumps({"explanation": "scripted", "score": 3})
    return "```python\noutput = 55\n```" if "output = …" in request.prompt.text else "A text."


class Embedded(ScriptedModel):
    """As the embedded model is, whose flags are fitted."""

    capabilities = Capabilities(
        logprobs=True, calibration=FrozenDict({"yes_no": LogprobCalibration(1.0, 0.0, 0.5)})
    )


EMBEDDED = "local/embedded"
NAMED = opening._by_server


def _scripted(id: str, *_: object) -> ScriptedModel:
    """Called as the real model is, with its provider."""
    if id.startswith("scripted/"):
        return ScriptedModel(id.partition("/")[2].split(","), name=id, remember=False)
    spec, model = (
        (None, id) if is_url(id) or id.startswith("local/") or id == "scripted" else find(id)
    )
    kind = Embedded if id.startswith("local/") else ScriptedModel
    return kind(_answer, name=f"{spec.name}/{model}" if spec else model)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A reader's folder, with what ``adjudge init`` writes there, files of other tools, and
    scripted models behind the names: keys and money are the reader's. What the models write needs
    no sandbox.
    """
    monkeypatch.setattr(sys, "argv", sys.argv)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")  # commands write beside their files
    for path, content in starters("chat"):
        (tmp_path / path.parent).mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    for name, sample in IMPORTS.items():
        (tmp_path / name).write_bytes((ROOT / "tests" / "samples" / sample).read_bytes())
    for name in VARIABLES:
        monkeypatch.setenv(name, "not-a-key")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("adjudge.core.gateway.opener._by_server", _scripted)
    monkeypatch.setattr("adjudge.core.gateway.opener.default_model", lambda: EMBEDDED)
    monkeypatch.setattr(
        "adjudge.features.generate.runtime.find_sandbox", lambda name=None: NoSandbox()
    )
    return tmp_path


def test_every_block_says_what_it_is() -> None:
    unknown = [
        block.name
        for block in BLOCKS
        if block.language not in ("python", "py", "bash", "yaml", "toml", "jinja", "text")
    ]
    assert unknown == []
    assert {block.page for block in of("py")} == {
        "docs/judges/unitxt.md",  # run by make test-unitxt
        "docs/decision-server.md",  # run by make test-decisions, as is the next
        "docs/ru/decision-server.md",
    }


SCRIPTS = [block for block in once("python") if block.page != "docs/plugins.md"]
"""That page shows the modules of a package, which tests/test_plugins.py installs and uses."""


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize("block", SCRIPTS, ids=lambda block: block.name)
def test_python_runs_and_prints_no_whole_objects(
    block: Block, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(block.text, block.page, "exec"), {})
    assert not WHOLE_OBJECT.search(capsys.readouterr().out)


def _lines(page: str) -> Iterator[str]:
    """Yield what a page shows to type."""
    for block in of("bash"):
        if block.page == page:
            yield from block.text.replace("\\\n", " ").splitlines()


def _options(page: str) -> list[list[str]]:
    """Return the words of a page's commands without texts, which differ between languages, and
    without the language.
    """
    return [
        [word for word in shlex.split(line, comments=True) if word.isascii() and " " not in word]
        for line in (line.replace(" --language ru", "") for line in _lines(page))
    ]


def _repeats_its_twin(page: str) -> bool:
    """Return True for a Russian page with the commands of the English one: same options and files,
    other texts.
    """
    twin = page.replace("docs/ru/", "docs/").replace(".ru.md", ".md")
    return twin != page and _options(page) == _options(twin) and "ADJUDGE_TWINS" not in os.environ


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize("page", sorted({block.page for block in of("bash")}))
def test_commands_run_in_their_order(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = not _repeats_its_twin(page)
    for line in _lines(page):
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        assert _ran(line, run=run) in RAN, line


def _ran(line: str, *, run: bool = True) -> int:
    """The exit code of a line of a shell; without ``run`` its options are read."""
    words = shlex.split(line, comments=True)
    if not words or line.startswith(ELSEWHERE):
        return 0
    assert words[0] == "adjudge", line
    words, target = (words[:-2], Path(words[-1])) if ">" in words[-2:-1] else (words, None)
    is_unending = line.startswith(UNENDING)
    if not run or is_unending or (IN_BATCHES & set(words) and "--dry-run" not in words):
        return _read_only(words[1:])
    code, printed = _output(words)
    if target:
        target.write_text(printed)
    return code


def _output(words: list[str]) -> tuple[int, str]:
    """The exit code of a command, and what it printed."""
    with redirect_stdout(io.StringIO()) as printed:
        return _exit_code(words), printed.getvalue()


def _exit_code(words: list[str]) -> int:
    sys.argv = words  # a run keeps the command that began it
    try:
        return int(app(words[1:], standalone_mode=False) or 0)
    except click.exceptions.Exit as end:
        return end.exit_code
    except SystemExit as end:
        return int(end.code or 0)


def _read_only(words: list[str]) -> int:
    """As far as the options: an unknown one raises. A group without a command only lists, and is
    run.
    """
    command: click.Command = app
    context, left = click.Context(app), words
    while isinstance(command, click.Group) and left and not left[0].startswith("-"):
        _, named, left = command.resolve_command(context, left)
        assert named is not None
        command = named
    if isinstance(command, click.Group):
        return _output(["adjudge", *words])[0]
    command.make_context(command.name, left)
    return 0


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(
    "block",
    [block for block in of("text") if block.text.startswith("$ ")],
    ids=lambda block: block.name,
)
def test_commands_print_what_the_page_shows(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    line, *shown = block.text.splitlines()
    if "--batch --dry-run" in line:
        monkeypatch.setattr(
            opening, "_by_server", NAMED
        )  # a scripted model has no batches; nobody is asked here
    with redirect_stderr(io.StringIO()) as aside:
        code, printed = _output(shlex.split(line.removeprefix("$ ")))
    assert code in RAN
    assert [
        wanted
        for wanted in shown
        if wanted not in ("…", *map(str.rstrip, (printed + aside.getvalue()).splitlines()))
    ] == []


def read_scenarios_or_eval(path: Path) -> object:
    """Read scenarios, which are a list, or an eval file."""
    is_list = path.read_text(encoding="utf-8").startswith("- ")
    return read_scenarios(path) if is_list else load_eval(path)


READERS: dict[str, Callable[[Path], object]] = {
    "docs/agent-rules.md": read_expectations,
    "docs/ru/agent-rules.md": read_expectations,
    "docs/agents.md": load_eval,
    "docs/checks.md": load_eval,
    "docs/compared.md": load_eval,
    "docs/conversations.md": read_scenarios_or_eval,
    "docs/criteria.md": read_criteria,
    "docs/engines.md": load_eval,
    "docs/eval-file.md": load_eval,
    "docs/helps.md": load_eval,
    "docs/follow.md": lambda path: load_eval(path, data=path),
    "docs/ru/follow.md": lambda path: load_eval(path, data=path),
    "docs/models.md": load_eval,
    "docs/panels.md": load_eval,
    "docs/plugins.md": read_criteria,
    "docs/rag.md": read_dimensions,
    "docs/ru/rag.md": read_dimensions,
    "docs/rubrics.md": load_eval,
    "docs/ru/agents.md": load_eval,
    "docs/ru/checks.md": load_eval,
    "docs/ru/conversations.md": read_scenarios_or_eval,
    "docs/ru/criteria.md": read_criteria,
    "docs/ru/engines.md": load_eval,
    "docs/ru/eval-file.md": load_eval,
    "docs/ru/models.md": load_eval,
    "docs/ru/panels.md": load_eval,
    "docs/ru/rubrics.md": load_eval,
    "docs/ru/runs.md": PriceTable.load,
    "docs/ru/view-together.md": Users,
    "docs/view-together.md": Users,
    "docs/ru/scale.md": load_eval,
    "docs/ru/sql.md": load_eval,
    "docs/ru/targets.md": load_eval,
    "docs/runs.md": PriceTable.load,
    "docs/scale.md": load_eval,
    "docs/sql.md": load_eval,
    "docs/targets.md": load_eval,
}


@pytest.mark.parametrize("block", once("yaml"), ids=lambda block: block.name)
def test_yaml_is_what_its_page_says(block: Block, desk: Path) -> None:
    (desk / "own.yaml").write_text(
        next(other.text for other in of("yaml") if other.page == "docs/criteria.md")
    )
    file = desk / "shown.yaml"
    file.write_text(block.text)
    assert READERS[block.page](file)


PROJECTS = [block for block in of("toml") if block.page != "docs/plugins.md"]
"""That page shows a package's pyproject.toml, which tests/test_plugins.py installs."""


@pytest.mark.parametrize("block", PROJECTS, ids=lambda block: block.name)
def test_toml_is_a_project(block: Block, desk: Path) -> None:
    (desk / "prices.yaml").write_text(
        next(other.text for other in of("yaml") if other.page == "docs/runs.md")
    )
    (desk / "adjudge.toml").write_text(block.text)
    assert find_project(desk).model == tomllib.loads(block.text)["model"]


def test_pages_that_use_the_examples_say_how_to_get_them() -> None:
    """A wheel has the examples inside; ``adjudge init examples`` writes them."""
    users = {block.page for block in of("bash", "python", "text") if "examples/" in block.text}
    assert len(users) > 20
    silent = [page for page in users if "init examples" not in (ROOT / page).read_text("utf-8")]
    assert silent == []


def _headings(page: Path) -> Iterator[str]:
    """The anchors of a page, numbered where a heading comes again."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    seen: Counter[str] = Counter()
    for heading in re.findall(r"^#+ (.+)$", text, re.M):
        name = site.slug(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading))
        yield f"{name}_{seen[name]}" if seen[name] else name
        seen[name] += 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(
        r"\]\(([^)#:\s]*)#?([^):\s]*)\)", page.read_text(encoding="utf-8")
    ):
        found = page.parent / target if target else page
        assert found.exists(), f"{page.name} points to {target}"
        assert not anchor or anchor in _headings(found), (
            f"{page.name} points to {target}#{anchor}, which has no such heading"
        )


def test_the_three_ways_are_open_to_russian_readers() -> None:
    docs = ROOT / "docs"
    ways = set(re.findall(r"\]\(([^)#:]+\.md)", (docs / "ways.md").read_text(encoding="utf-8")))
    assert [page for page in ways - set(ENGLISH_ONLY) if not (docs / "ru" / page).exists()] == []
    assert set(ENGLISH_ONLY) <= ways
    twins = {str(page.relative_to(docs / "ru")): page for page in (docs / "ru").rglob("*.md")}
    astray = [
        f"{name} leads to the English {target}"
        for name, page in twins.items()
        for target in re.findall(r"\]\((?:\.\./)+([^)#:]+\.md)\)", page.read_text(encoding="utf-8"))
        if target in twins and target != name
    ]
    assert astray == []


def _pages_of(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for one in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _pages_of(one)


def test_every_page_has_its_place_in_one_section_of_the_site() -> None:
    listed = Counter(
        _pages_of(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    )
    there = {site.place(page) for page in (ROOT / "docs").rglob("*.md")} | set(site.PLACES.values())
    assert sorted(there - set(listed)) == [], (
        "pages in no section: name them under nav in mkdocs.yml"
    )
    assert [page for page in listed if page not in there and not (ROOT / page).exists()] == [], (
        "pages that are not there"
    )
    assert [page for page, times in listed.items() if times > 1] == []


def test_the_list_of_commands_is_what_help_says() -> None:
    assert commands.PAGE.read_text(encoding="utf-8") == commands.page(), (
        "write it anew: python tools/commands.py"
    )


def test_the_list_of_settings_is_what_the_code_declares() -> None:
    assert settings.PAGE.read_text(encoding="utf-8") == settings.page(), (
        "write it anew: python tools/settings.py"
    )


def test_the_reference_has_every_public_name() -> None:
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md")]
    shown = [
        resolve_name(":".join(name))
        for text in pages
        for name in re.findall(r"^::: (\S+)\.(\w+)$", text, re.M)
    ]
    public = [
        (home.__name__, name)
        for home in (adjudge, rag, runs, strategy, trust)
        for name in home.__all__
    ]
    missing = [
        name
        for home, name in public
        if name != "__version__" and resolve_name(f"{home}:{name}") not in shown
    ]
    assert missing == [], "names in no page of docs/api"


def test_pictures_are_few_and_small_and_all_are_shown() -> None:
    pictures = sorted((ROOT / "docs" / "pictures").glob("*"))
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert len(pictures) <= 6
    assert [
        one.name
        for one in pictures
        if one.stat().st_size > 150_000 or f"pictures/{one.name})" not in text
    ] == []


def test_every_make_target_in_the_documents_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {
        name
        for page in PAGES
        for name in re.findall(r"(?:^|`)make ([a-z][\w-]*)", page.read_text(), re.M)
    }
    assert named <= targets
