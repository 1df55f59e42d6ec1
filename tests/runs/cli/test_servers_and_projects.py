"""A company's gateway in every command and eval file: base URL, key, headers, and the project's
defaults for them.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from adjudge.core.reading.project_files import project_files
from support.asking import marked
from support.commands import adjudge
from support.fake_provider import KEY, FakeProvider

GATEWAY = [
    "--header",
    "X-Gateway-Key: $GATEWAY_KEY",
    "--header",
    "X-Team: search",
    "-m",
    "openai/gpt-4o-mini",
    "--no-cache",
]
EVAL = "data: rows.csv\njudges: [{kind: aspect, criteria: It ends in Y.}]\n"


@pytest.fixture
def company(provider: FakeProvider) -> str:
    """The base URL of a gateway with its own key header."""
    return provider.base_url("company")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("\n".join(["response", *marked(6)]) + "\n")
    return tmp_path


def run(folder: Path, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith(("_API_KEY", "_BASE_URL"))
    }
    return adjudge(*words, cwd=folder, environment={**own, "GATEWAY_KEY": KEY, **environment})


COMMANDS: dict[str, list[str]] = {
    "check": ["check", "-f", "rows.csv", "--criterion", "It ends in Y."],
    "judge": ["judge", "-f", "rows.csv", "--criterion", "Does it end in Y?"],
    "compare": ["compare", "REC-00001-Y", "REC-00002-Y", "--criterion", "Which is better?"],
    "rag": ["rag", "--csv", "rag.csv", "--dimensions", "clarity"],
    "generate": ["generate", "Say hello.", "-n", "1", "--max-iterations", "1", "--sandbox", "none"],
    "doctor": ["doctor"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_reaches_a_gateway_with_a_key_header_of_its_own(
    provider: FakeProvider, company: str, folder: Path, name: str
) -> None:
    (folder / "rag.csv").write_text("question,answer,contexts\nq,REC-00001-Y,c\n")
    asking = [
        word for word in GATEWAY if word != "--no-cache" or name not in ("doctor", "generate")
    ]
    done = run(
        folder,
        *COMMANDS[name],
        "--base-url",
        company,
        *asking,
        OPENAI_API_KEY="sk-not-for-the-gateway",
    )
    assert provider.requests
    assert {request.protocol for request in provider.requests} == {"company"}
    assert not any("Authorization" in request.headers for request in provider.requests)
    if name not in ("rag", "generate"):  # this server gives neither numbers nor code
        assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr


def test_an_eval_file_says_it_for_a_model(
    provider: FakeProvider, company: str, folder: Path
) -> None:
    model = (
        f"{{model: openai/gpt-4o-mini, base_url: {company}, headers: {{X-Gateway-Key: "
        f"$GATEWAY_KEY, X-Team: search}}}}"
    )
    (folder / "eval.yaml").write_text(f"{EVAL}models: [{model}]\n")
    done = run(folder, "run", "eval.yaml", "--no-cache")
    assert done.returncode == 0, done.stderr
    assert len(provider.requests) == 6


def test_a_key_by_the_name_of_its_variable(provider: FakeProvider, folder: Path) -> None:
    url = provider.base_url("litellm")
    (folder / "eval.yaml").write_text(
        f"{EVAL}models: [{{model: openai/team-judge, base_url: {url}, api_key_env: GATEWAY_KEY}}]\n"
    )
    assert run(folder, "run", "eval.yaml", "--no-cache").returncode == 0
    typed = [
        "-m",
        "openai/team-judge",
        "--base-url",
        url,
        "--api-key-env",
        "GATEWAY_KEY",
        "--no-cache",
    ]
    assert run(folder, *COMMANDS["check"], *typed).returncode == 0
    assert len(provider.requests) == 12


def test_a_run_of_an_eval_file_can_be_sent_elsewhere(
    provider: FakeProvider, company: str, folder: Path
) -> None:
    (folder / "eval.yaml").write_text(
        f"{EVAL}models: [{{model: openai/gpt-4o-mini, base_url: http://127.0.0.1:9/v1}}]\n"
    )
    done = run(folder, "run", "eval.yaml", "--no-cache", "--base-url", company, *GATEWAY[:4])
    assert done.returncode == 0, done.stderr
    assert len(provider.requests) == 6


def test_how_models_sample_can_be_typed_for_a_whole_eval_file(
    provider: FakeProvider, company: str, folder: Path
) -> None:
    (folder / "eval.yaml").write_text(EVAL.replace("Y.}", "Y., temperature: 0.9, strictness: 2}"))
    typed = ["run", "-c", "eval.yaml", "--seed", "7", "--temperature", "0.25", "--limit", "1"]
    done = run(folder, *typed, "--base-url", company, *GATEWAY)
    assert done.returncode == 0, done.stderr
    assert sorted((one["seed"], one["temperature"]) for one in provider.bodies) == [
        (7, 0.25),
        (8, 0.25),
    ]
    twice = run(folder, "run", "eval.yaml", "-c", "eval.yaml")
    assert (twice.returncode, "one eval file" in twice.stderr) == (2, True)


@pytest.mark.parametrize("name", ["check", "judge"])
def test_a_wrong_key_of_a_gateway_costs_three_requests_and_one_line(
    provider: FakeProvider, company: str, folder: Path, name: str
) -> None:
    (folder / "rows.csv").write_text("\n".join(["response", *marked(500)]) + "\n")
    more = (
        ["--criterion", "Is it short?", "--criterion", "Is it polite?"] if name == "judge" else []
    )
    done = run(
        folder,
        *COMMANDS[name],
        *more,
        "--base-url",
        company,
        *GATEWAY,
        GATEWAY_KEY="wrong-key-0123456789",
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "adjudge: openai/gpt-4o-mini: 401: Unauthorized (check the API key)"
    ]
    assert 1 <= len(provider.requests) <= 3


def test_a_variable_that_is_not_set_is_said_before_anything_is_asked(
    provider: FakeProvider, company: str, folder: Path
) -> None:
    done = run(
        folder,
        *COMMANDS["check"],
        "--base-url",
        company,
        "-m",
        "gpt-4o",
        "--api-key-env",
        "NOT_SET_ANYWHERE",
    )
    assert done.returncode == 1
    assert "NOT_SET_ANYWHERE" in done.stderr
    assert "is not set" in done.stderr
    assert not provider.requests


@pytest.mark.parametrize(
    "words",
    [
        ["--header", f"X-Gateway-Key: {KEY}"],
        ["--api-key-env", KEY],
        ["--header", "X-Team=search"],
    ],
)
def test_a_key_on_the_command_line_is_a_usage_error_that_does_not_repeat_it(
    folder: Path, words: list[str]
) -> None:
    done = run(folder, *COMMANDS["check"], "-m", "openai/gpt-4o", "--run", "kept", *words)
    assert done.returncode == 2
    assert KEY not in done.stderr
    assert not (folder / "kept").exists()


def test_a_server_without_a_model_is_not_the_embedded_model(folder: Path) -> None:
    done = run(folder, *COMMANDS["check"], "--base-url", "http://127.0.0.1:9/v1")
    assert done.returncode == 2
    assert "name one with -m" in done.stderr


def test_a_run_is_resumed_when_only_the_key_has_changed(
    provider: FakeProvider, company: str, folder: Path
) -> None:
    asked = [*COMMANDS["check"], "--base-url", company, *GATEWAY, "--run", "kept"]
    assert run(folder, *asked, "--max-calls", "3").returncode == 1
    before = len(provider.requests)
    (folder / "adjudge.toml").write_text(f'base_url = "{company}"\napi_key_env = "OTHER"\n')
    again = [
        "--header",
        "X-Gateway-Key: $OTHER",
        "--header",
        "X-Team: ads",
        "-m",
        "openai/gpt-4o-mini",
        "--no-cache",
    ]
    done = run(folder, *COMMANDS["check"], *again, "--run", "kept", GATEWAY_KEY="", OTHER=KEY)
    assert done.returncode == 0, done.stderr
    assert len(provider.requests) == 6
    assert before == 3


def test_a_kept_command_names_variables_and_is_resumed_by_them(
    provider: FakeProvider, company: str, folder: Path
) -> None:
    asked = [
        *COMMANDS["check"],
        "--base-url",
        company,
        *GATEWAY,
        "--api-key-env",
        "GATEWAY_KEY",
        "--run",
        "kept",
    ]
    assert run(folder, *asked, "--max-calls", "3").returncode == 1
    assert KEY.encode() not in b"".join(path.read_bytes() for path in (folder / "kept").iterdir())
    refused = run(folder, "resume", "kept", "--", "--max-calls", "10")
    assert refused.returncode == 1
    assert "keeps only a hash of the header X-Team" in refused.stderr
    words = ("--max-calls", "10", "--header", "X-Team: ads")
    done = run(folder, "resume", "kept", "--", *words)
    assert done.returncode == 0, done.stderr
    assert len(provider.requests) == 6


def test_who_resumes_a_run_of_somebody_else_sees_what_it_sends(
    company: str, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked = [
        *COMMANDS["check"],
        "--base-url",
        company,
        *GATEWAY,
        "--api-key-env",
        "GATEWAY_KEY",
        "--run",
        "kept",
    ]
    assert run(folder, *asked, "--max-calls", "3").returncode == 1
    done = run(folder, "resume", "kept", ADJUDGE_CACHE=str(tmp_path_factory.mktemp("other")))
    assert done.returncode == 1
    assert "sends   $GATEWAY_KEY" in done.stderr
    assert "sends   X-Gateway-Key: $GATEWAY_KEY" in done.stderr
    assert f" at {company}" in done.stderr


# -- the project's defaults ---------------------------------------------------------------


def project(company: str) -> str:
    return f"""
model = "openai/gpt-4o-mini"
base_url = "{company}"
headers = {{ X-Gateway-Key = "$GATEWAY_KEY", X-Team = "search" }}
"""


@pytest.mark.parametrize("file", ["adjudge.toml", "pyproject.toml"])
def test_a_projects_defaults_are_found_up_the_tree(
    provider: FakeProvider, company: str, folder: Path, file: str
) -> None:
    heading = "[tool.adjudge]" if file == "pyproject.toml" else ""
    (folder / file).write_text(heading + project(company))
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    done = run(below, "check", "-f", "../../rows.csv", "--criterion", "It ends in Y.", "--no-cache")
    assert done.returncode == 0, done.stderr
    assert len(provider.requests) == 6
    doctor = run(below, "doctor")
    assert doctor.returncode == 0, doctor.stdout
    assert f"configuration: {folder / file} (base_url, headers, model)" in doctor.stdout
    assert KEY not in doctor.stdout


def test_the_nearest_file_counts_and_a_pyproject_without_our_table_does_not(
    provider: FakeProvider, folder: Path
) -> None:
    (folder / "adjudge.toml").write_text('language = "ru"\n')
    below = folder / "below"
    below.mkdir()
    (below / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["adjudge"]\n')
    assert f"настройки: {folder / 'adjudge.toml'} (language)" in run(below, "doctor").stdout
    (below / "adjudge.toml").write_text("")
    assert f"configuration: {below / 'adjudge.toml'} (no message)" in run(below, "doctor").stdout


def test_a_folder_that_is_gone_or_cannot_be_looked_into_says_nothing(tmp_path: Path) -> None:
    assert not [*project_files(tmp_path / ("long" * 100))]  # nobody may look for a file there
    code = "import os; os.rmdir(os.getcwd()); from adjudge.runs.cli.main import main; main()"
    words = [sys.executable, "-c", code, "--help"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes in the file system")
@pytest.mark.parametrize("name", ["adjudge.toml", "pyproject.toml"])
def test_a_pipe_that_is_called_like_the_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert tmp_path not in [path.parent for path in project_files(tmp_path)]


def test_toml_that_is_too_deep_is_named(tmp_path: Path) -> None:
    (tmp_path / "adjudge.toml").write_text("language = " + "[" * 5000)
    done = run(tmp_path, "check", "abc", "--contains", "a")
    assert done.returncode == 1
    assert done.stderr == (f"adjudge: {tmp_path / 'adjudge.toml'}, line 1: is nested too deeply\n")


def test_the_doctor_says_when_there_is_no_configuration(tmp_path: Path) -> None:
    assert "configuration: none" in run(tmp_path, "doctor").stdout


def test_an_eval_file_that_leaves_it_open_has_the_projects_defaults(
    provider: FakeProvider, company: str, folder: Path
) -> None:
    (folder / "adjudge.toml").write_text(project(company) + 'language = "ru"\n')
    (folder / "eval.yaml").write_text(EVAL)
    done = run(folder, "run", "eval.yaml", "--no-cache")
    assert done.returncode == 0, done.stderr
    assert len(provider.requests) == 6
    assert "Критерий" in json.dumps(provider.bodies[0], ensure_ascii=False)
    (folder / "eval.yaml").write_text(f"language: en\n{EVAL}")
    assert run(folder, "run", "eval.yaml", "--no-cache", "--run", "other").returncode == 0
    assert "Критерий" not in json.dumps(provider.bodies[-1], ensure_ascii=False)


def test_what_is_typed_counts_before_the_projects_defaults(
    provider: FakeProvider, company: str, folder: Path
) -> None:
    (folder / "adjudge.toml").write_text(
        project(company).replace("gpt-4o-mini", "gpt-9") + 'language = "ru"\n'
    )
    done = run(folder, *COMMANDS["check"], "-m", "openai/gpt-4o", "--language", "en", "--no-cache")
    assert done.returncode == 0, done.stderr
    assert {body["model"] for body in provider.bodies} == {"gpt-4o"}
    assert "Критерий" not in json.dumps(provider.bodies[0], ensure_ascii=False)


@pytest.mark.parametrize("way", ["URL", "base URL", "eval file"])
def test_the_projects_key_and_headers_go_to_no_other_server(
    provider: FakeProvider, company: str, folder: Path, way: str
) -> None:
    (folder / "adjudge.toml").write_text(project(company) + 'api_key_env = "GATEWAY_KEY"\n')
    other = provider.base_url("compatible")
    (folder / "eval.yaml").write_text(f"{EVAL}models: [{{model: mine, base_url: {other}}}]\n")
    words = {
        "URL": [*COMMANDS["check"], "-m", f"{other}#mine"],
        "base URL": [*COMMANDS["check"], "-m", "mine", "--base-url", other],
        "eval file": ["run", "eval.yaml"],
    }
    done = run(folder, *words[way], "--no-cache")
    assert done.returncode == 0, done.stderr
    assert {request.protocol for request in provider.requests} == {"compatible"}
    assert not any(
        {"Authorization", "X-Gateway-Key", "X-Team"} & request.headers.keys()
        for request in provider.requests
    )


def test_a_model_without_a_server_needs_nothing_of_the_project(company: str, folder: Path) -> None:
    (folder / "adjudge.toml").write_text(project(company))
    done = run(folder, *COMMANDS["check"], "-m", "scripted/PASS", "--no-cache", GATEWAY_KEY="")
    assert done.returncode == 0, done.stderr


def test_a_dry_run_says_that_the_key_is_missing(folder: Path) -> None:
    done = run(
        folder, *COMMANDS["check"], "-m", "openai/gpt-4o-mini", "--dry-run", OPENAI_API_KEY=""
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("openai/gpt-4o-mini needs a key: set OPENAI_API_KEY")
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_model_is_told_with_the_file_that_names_it(folder: Path) -> None:
    (folder / "adjudge.toml").write_text('model = "gpt4o"\n')
    (folder / "eval.yaml").write_text("data: rows.csv\njudges: [{kind: aspect, criteria: Ok.}]\n")
    (folder / "rows.csv").write_text("response\nx\n")
    done = run(folder, "run", "eval.yaml")
    assert "adjudge.toml, model: unknown model 'gpt4o'" in done.stderr


def test_prices_of_a_project_are_counted_by(
    provider: FakeProvider, company: str, folder: Path
) -> None:
    (folder / "adjudge.toml").write_text(project(company) + 'prices = "prices.yaml"\n')
    (folder / "prices.yaml").write_text("openai/gpt-4o-mini: {input: 1000000, output: 1000000}\n")
    done = run(folder, *COMMANDS["check"], "--dry-run", "--no-cache")
    assert done.returncode == 0, done.stderr
    dollars = done.stdout.partition("cost: $")[2].partition(" ")[0]
    assert float(dollars) > 100


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        (
            "model = 'openai/gpt-4o'\nbase_ulr = 'http://x'\n",
            "adjudge.toml, line 2: unknown key 'base_ulr'; did you mean 'base_url'?",
        ),
        (
            "\n\nlanguage = 'fr'\n",
            "adjudge.toml, line 3, language: must be one of en, ru, not 'fr'",
        ),
        (
            "max_concurrency = 0\n",
            "adjudge.toml, line 1, max_concurrency: must be a whole number from 1, not 0",
        ),
        ("model = \n", "adjudge.toml, line 1: is not TOML"),
        (
            f"model = 'openai/m'\n[headers]\nX-Key = '{KEY}'\n",
            "adjudge.toml, line 3, headers.X-Key: the header X-Key contains a key",
        ),
        (f"api_key = '{KEY}'\n", "line 1: unknown key 'api_key'; keys do not belong in files"),
        (
            f"model = 'openai/m'\napi_key_env = '{KEY}'\n",
            "line 2, api_key_env: must be the name of an environment variable",
        ),
        (
            f"base_url = 'http://gw/v1?key={KEY}'\n",
            "line 1, base_url: contains a password or a key",
        ),
        (
            "api_key_env = 'GATEWAY_KEY'\n",
            "line 1, api_key_env: belongs to a server: name the server with base_url or model",
        ),
    ],
)
def test_what_is_wrong_with_a_projects_file_is_said_with_its_place(
    folder: Path, text: str, trouble: str
) -> None:
    (folder / "adjudge.toml").write_text(text)
    done = run(folder, *COMMANDS["check"], "-m", "scripted/PASS")
    assert done.returncode == 1
    assert trouble in done.stderr
    assert KEY not in done.stderr


def test_the_doctor_says_when_a_model_does_not_exist(
    provider: FakeProvider, company: str, folder: Path
) -> None:
    asked = [word for word in GATEWAY if word != "--no-cache"]
    done = run(folder, "doctor", "--base-url", company, *asked, "-m", "openai/gpt-9")
    assert done.returncode == 1
    shown = " ".join(done.stdout.split())
    assert "openai/gpt-9: the server has no model" in shown
    assert "did you mean gpt-4o" in shown
    assert not any(request.method == "POST" for request in provider.requests)


def test_the_doctor_is_not_fooled_by_a_gateway_that_answers_to_any_name(
    provider: FakeProvider, company: str, folder: Path
) -> None:
    provider.any_name = True
    asked = [word for word in GATEWAY if word != "--no-cache"]
    done = run(folder, "doctor", "--base-url", company, *asked, "-m", "openai/gpt-9", "--json")
    assert done.returncode == 0
    *listed, made_up = (one["message"] for one in json.loads(done.stdout)["results"])
    assert made_up.startswith("yes, but this gateway accepts any name")
    assert set(listed) == {"yes"}
    assert not any(request.method == "POST" for request in provider.requests)


# -- what docs/models.md shows -------------------------------------------------------------

PAGE = Path(__file__).parents[3] / "docs" / "models.md"
LINES = [
    line
    for line in PAGE.read_text(encoding="utf-8").partition("\n## Gateways\n")[2].splitlines()
    if line.startswith("adjudge check")
]
HOSTS = {
    "https://RESOURCE.openai.azure.com/openai/v1": "azure-v1",
    "https://RESOURCE.openai.azure.com/openai/deployments/judge": "azure",
    "http://localhost:8000/v1": "vllm",
    "http://localhost:4000/v1": "litellm",
    "https://gateway.example.org/llm/v1": "company",
}
"""Address in the page → the server that stands for it."""
KEYS = (
    "AZURE_OPENAI_API_KEY",
    "VLLM_API_KEY",
    "LITELLM_API_KEY",
    "OPENROUTER_API_KEY",
    "GATEWAY_KEY",
)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.partition(" -m ")[2][:40])
def test_a_line_of_the_page_on_models_works(
    provider: FakeProvider, tmp_path: Path, line: str
) -> None:
    for address, name in HOSTS.items():
        line = line.replace(address, provider.base_url(name))
    words = [word for word in shlex.split(line) if word != "adjudge"]
    done = run(
        tmp_path,
        *words,
        "--no-cache",
        OPENROUTER_BASE_URL=provider.base_url("openrouter"),
        **dict.fromkeys(KEYS, KEY),
    )
    assert done.returncode == 0, done.stderr
    assert len(provider.requests) == 1


def test_the_page_on_models_shows_every_kind_of_server() -> None:
    assert len(LINES) == len(HOSTS) + 1


def test_doctor_asks_azure_for_a_deployment(provider: FakeProvider, tmp_path: Path) -> None:
    endpoint = provider.base_url("azure-v1").removesuffix("/openai/v1")
    keys = {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_ENDPOINT": endpoint}
    named = run(tmp_path, "doctor", "-m", "azure/judge", **keys)
    assert named.returncode == 0, named.stdout
    missing = run(tmp_path, "doctor", "-m", "azure/gpt-4o", **keys)
    assert missing.returncode == 1
    assert "deployment for this resource" in " ".join(missing.stdout.split())
    # Without a name, the example is no deployment of anybody.
    alone = run(tmp_path, "doctor", **keys)
    assert alone.returncode == 0, alone.stdout
    assert "-m azure/NAME" in " ".join(alone.stdout.split())
    models = run(tmp_path, "models", **keys)
    assert "azure/my-deployment" in "".join(models.stdout.split())
    assert KEY not in named.stdout + missing.stdout + alone.stdout + models.stdout
