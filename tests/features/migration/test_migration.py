"""``adjudge init --from``: what is mapped runs, and what is not is listed with its line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from adjudge.features.migration.providers import model_of_bare_name, model_of_promptfoo
from support.commands import adjudge

DATA = Path(__file__).parent / "data"


def migrate(name: str, folder: Path, *more: str) -> CompletedProcess[str]:
    source = DATA / name
    if source.suffix == ".py":  # kept as a text, or pytest would collect it
        source = write(folder, str(name), Path(f"{source}.txt").read_text(encoding="utf-8"))
    return convert(source, folder, *more)


def convert(source: Path, folder: Path, *more: str) -> CompletedProcess[str]:
    done = adjudge("init", "--from", source, *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


def eval_in(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((folder / "eval.yaml").read_text(encoding="utf-8"))
    return content


def rows_in(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "data" / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def run(folder: Path, *more: str) -> tuple[int, dict[str, set[str]]]:
    """Run the eval file with the scripted model; return the exit code, and criterion → rows with a
    verdict.
    """
    done = adjudge("run", "eval.yaml", "-m", "scripted", "--no-cache", "--trust", *more, cwd=folder)
    assert done.returncode in (0, 4), done.stderr
    adjudge("export", "runs/eval", "--to", "jsonl", "-o", "out.jsonl", cwd=folder)
    judged: dict[str, set[str]] = {}
    for line in (folder / "out.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["status"] == "scored":
            judged.setdefault(row["criteria"], set()).add(row["id"].split(" ")[0])
    return done.returncode, judged


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# -- promptfoo ---------------------------------------------------------------------------


def test_a_configuration_of_promptfoo_runs(tmp_path: Path) -> None:
    done = migrate("hotel.yaml", tmp_path)
    assert "hotel.yaml: 10 of 13 assertions mapped; 2 rows" in done.stdout
    written = eval_in(tmp_path)
    assert written["target"] == [
        {"model": "openai/gpt-4o-mini"},
        {"model": "anthropic/claude-sonnet-4-5", "name": "sonnet", "temperature": 0.2},
    ]
    assert written["models"] == ["openai/gpt-4o"]
    assert written["checks"][:4] == [
        {"json": {"fenced": False}},
        {"not": {"contains": "best regards"}},
        {"latency": 4.0},  # promptfoo counts milliseconds
        {"cost": 0.01},
    ]
    code, judged = run(tmp_path, "--target", "scripted")
    assert code == 4
    assert judged["is JSON"] == {"test-1", "test-2"}
    assert judged["requirement"] == {"test-1"}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (15, "provider file://my_provider.py"),
        (35, "javascript: JavaScript is not run"),
        (52, "python: only an expression"),
        (54, "similar: it calls an embedding model"),
    ],
)
def test_what_has_no_counterpart_is_listed_with_its_line(
    tmp_path: Path, line: int, what: str
) -> None:
    done = migrate("hotel.yaml", tmp_path)
    text = (DATA / "hotel.yaml").read_text(encoding="utf-8").splitlines()[line - 1]
    assert what.split(":", maxsplit=1)[0].rsplit(maxsplit=1)[-1] in text
    assert f"  line {line}: {what}" in done.stdout
    comments = (tmp_path / "eval.yaml").read_text(encoding="utf-8").replace("\n#     ", " ")
    assert f"#   line {line}: {what}" in comments


def test_texts_of_the_file_stay_as_they_are(tmp_path: Path) -> None:
    """Braces and dollar signs mean something here, and nothing in promptfoo; a variable called
    text would be taken for the answer.
    """
    migrate("hotel.yaml", tmp_path)
    prompt = (tmp_path / "prompts" / "prompt_1.txt").read_text(encoding="utf-8")
    assert 'Reply with {{"place": …}} and no more.\nAdvertisement: {var_text}' in prompt
    (first, second) = rows_in(tmp_path)
    assert "$PER_NIGHT" in first["var_text"] and "text" not in first
    assert first["requirement"] == "The answer names Lindau as the place and invents no extras."
    assert second["requirement"] == ""
    assert (first["expected_contains"], second["expected_contains"]) == ("Lindau", "Chur")


@pytest.mark.parametrize("text", ["costs $HOME", "$HOME", "in ${HOME} or ${1}", "$5", "$${HOME}"])
def test_a_dollar_sign_in_an_assert_is_no_variable(tmp_path: Path, text: str) -> None:
    path = write(
        tmp_path,
        "p.yaml",
        "prompts: ['{{q}}']\nproviders: [openai:gpt-4o]\n"
        f"tests: [{{vars: {{q: a}}, assert: [{{type: contains, value: '{text}'}}]}}]\n",
    )
    convert(path, tmp_path)
    assert f"contains '{text}'" in run(tmp_path, "--target", "scripted")[1]


def test_each_assert_judges_its_rows_and_no_others(tmp_path: Path) -> None:
    done = migrate("support.yaml", tmp_path)
    assert "line 12: not-llm-rubric" in done.stdout
    assert "line 15: icontains.transform" in done.stdout
    assert "line 16: redteam" in done.stdout
    _, judged = run(tmp_path, "--target", "scripted")
    assert judged["polite"] == {"test-1", "test-2"}
    assert judged["contains any of 'parcel', 'return'"] == {"test-1", "test-2"}
    assert judged["factual_correctness"] == {"test-3"} == judged["answer_relevance"]
    shown = adjudge("runs", "show", "runs/eval", cwd=tmp_path).stdout
    assert "polite: 1 row was not judged" in " ".join(shown.split())


def test_tests_in_a_table_and_prompts_with_logic(tmp_path: Path) -> None:
    done = migrate("tickets.yaml", tmp_path)
    assert "line 3: prompts: templates with logic or filters are not mapped" in done.stdout
    assert "line 4: prompts: targets here get a single message" in done.stdout
    written = eval_in(tmp_path)
    models = [{"model": "ollama/llama3.2"}, {"model": "azure/my-deployment"}]
    assert (written["target"], written["repeat"]) == (models, 2)
    assert [row["expected_equals"] for row in rows_in(tmp_path)] == ["", "billing"]
    assert run(tmp_path, "--target", "scripted")[0] == 4


def test_a_transform_leaves_its_asserts_out(tmp_path: Path) -> None:
    """Judging the untransformed output would give wrong verdicts that look right."""
    path = write(
        tmp_path,
        "p.yaml",
        "prompts: ['{{q}}']\nproviders: [openai:gpt-4o]\ntests:\n"
        "  - vars: {q: a}\n    options: {transform: 'output.trim()'}\n"
        "    assert: [{type: equals, value: b}]\n"
        "  - vars: {q: c}\n    assert: [{type: equals, value: d}]\n",
    )
    done = convert(path, tmp_path)
    assert "line 5: transform: outputs are not transformed" in done.stdout
    assert [row["expected_equals"] for row in rows_in(tmp_path)] == ["", "d"]


def test_files_outside_of_the_folder_are_not_read(tmp_path: Path) -> None:
    secret = write(tmp_path, "secret.txt", "{{q}} hidden words")
    inner = tmp_path / "inner"
    inner.mkdir()
    path = write(
        inner,
        "p.yaml",
        f"prompts: ['file://../secret.txt', 'file://{secret}', '{{{{q}}}}']\n"
        "providers: [openai:gpt-4o]\n"
        "tests: [{vars: {q: 'file://../secret.txt'}, assert: [{type: is-json}]}]\n",
    )
    convert(path, inner)
    written = [file for file in inner.rglob("*") if file.is_file() and file != path]
    assert written
    assert not any("hidden words" in file.read_text(encoding="utf-8") for file in written)


def test_a_second_assert_of_a_kind_extends_its_rows(tmp_path: Path) -> None:
    """Asserts with other thresholds ask the same: the rows of the second were not judged, or the
    eval file had two judges of one name and was refused.
    """
    test = "  - vars: {question: %s, context: c}\n    assert: [%s]\n"
    asserts = (
        "{type: answer-relevance, threshold: 0.5}, {type: llm-rubric, value: ok, threshold: 0.1}",
        "{type: answer-relevance, threshold: 0.8}, {type: llm-rubric, value: ok, threshold: 0.2}",
        "{type: context-recall, value: 'in 1889'}, {type: llm-rubric, value: ok, threshold: 0.2}",
        "{type: context-recall, value: 'in 1999'}, {type: llm-rubric, value: ok, threshold: 0.1}",
        "{type: factuality, value: 'in 2001'}",
        "{type: factuality, value: 'in 2002'}",
    )
    tests = "".join(test % (f"q{number}", each) for number, each in enumerate(asserts))
    head = "prompts: ['{{question}}']\nproviders: [openai:gpt-4o]\ntests:\n"
    convert(write(tmp_path, "p.yaml", head + tests), tmp_path)
    _, judged = run(tmp_path, "--target", "scripted")
    assert judged["answer_relevance"] == {"test-1", "test-2"}
    assert judged["ok"] == {"test-1", "test-2", "test-3", "test-4"}
    assert judged["rag"] == {"test-3", "test-4"}
    assert judged["factual_correctness"] == {"test-5", "test-6"}
    references = [row["reference"] for row in rows_in(tmp_path)]
    assert references == ["", "", "in 1889", "in 1999", "in 2001", "in 2002"]


def test_a_row_has_one_reference(tmp_path: Path) -> None:
    """The text of context-recall replaced that of factuality, which then judged by it."""
    config = (
        "prompts: ['{{question}}']\nproviders: [openai:gpt-4o]\ntests:\n"
        "  - vars: {question: q, context: c}\n    assert:\n"
        "      - {type: factuality, value: 'in 1889'}\n"
        "      - {type: context-recall, value: '%s'}\n"
    )
    done = convert(write(tmp_path, "p.yaml", config % "a fair"), tmp_path)
    assert "line 7: context-recall: a row has one reference, and this is a second" in done.stdout
    assert [row["reference"] for row in rows_in(tmp_path)] == ["in 1889"]
    other = tmp_path / "other"
    other.mkdir()
    convert(write(other, "p.yaml", config % "in 1889"), other)
    assert [judge["kind"] for judge in eval_in(other)["judges"]] == ["direct", "rag"]


@pytest.mark.parametrize("kind", ["llm-rubric", "factuality", "contains"])
def test_a_text_that_is_empty_in_a_row_is_reported(tmp_path: Path, kind: str) -> None:
    config = (
        "prompts: ['{{question}}']\nproviders: [openai:gpt-4o]\n"
        "defaultTest: {assert: [{type: is-json}, {type: %s, value: '{{want}}'}]}\n"
        "tests: [{vars: {question: a, want: b}}, {vars: {question: c, want: ''}}]\n"
    )
    done = convert(write(tmp_path, "p.yaml", config % kind), tmp_path)
    assert f"line 3: {kind}: its text is empty in at least one row" in done.stdout


def test_thresholds_of_tests_become_that_of_the_checks(tmp_path: Path) -> None:
    config = (
        "prompts: ['{{q}}']\nproviders: [openai:gpt-4o]\ntests:\n"
        "  - vars: {q: a}\n    threshold: 0.5\n"
        "    assert: [{type: contains, value: x}, {type: word-count, value: {max: 90}}]\n"
    )
    convert(write(tmp_path, "p.yaml", config), tmp_path)
    (judge,) = eval_in(tmp_path)["judges"]
    assert (judge["kind"], judge["threshold"], len(judge["checks"])) == ("check", 0.5, 2)
    assert "gates" not in eval_in(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    more = "  - vars: {q: b}\n    assert: [{type: contains, value: x}]\n"
    done = convert(write(other, "p.yaml", config + more), other)
    assert "threshold: the threshold of a test is mapped only if all tests" in done.stdout
    assert "threshold" not in json.dumps(eval_in(other))


def test_the_refusal_of_such_a_configuration_names_the_way(tmp_path: Path) -> None:
    done = adjudge("run", DATA / "hotel.yaml", cwd=tmp_path)
    assert "adjudge init --from hotel.yaml" in done.stderr


def test_python_of_a_stranger_is_not_trusted(tmp_path: Path) -> None:
    """What adjudge writes itself is trusted; a converted expression is somebody else's code."""
    environment = {name: each for name, each in os.environ.items() if name != "ADJUDGE_TRUST"}
    environment["XDG_STATE_HOME"] = environment["HOME"] = str(tmp_path / "home")
    adjudge("init", "--from", DATA / "hotel.yaml", cwd=tmp_path, environment=environment)
    done = adjudge(
        *("run", "eval.yaml", "-m", "scripted", "--target", "scripted"),
        cwd=tmp_path,
        environment=environment,
    )
    assert done.returncode == 1
    assert "trust" in done.stderr


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("openai:gpt-4o-mini", "openai/gpt-4o-mini"),
        ("openai:responses:gpt-5", "openai/gpt-5"),
        ("anthropic:messages:claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("openrouter:meta-llama/llama-3.1-70b", "openrouter/meta-llama/llama-3.1-70b"),
        ("ollama:chat:llama3.2:1b", "ollama/llama3.2:1b"),
        ("openai:embedding:text-embedding-3", None),
        ("azure:chat:mine", "azure/mine"),
        ("bedrock:converse:amazon.nova-lite-v1:0", "bedrock/amazon.nova-lite-v1:0"),
        ("bedrock:amazon.nova-lite-v1:0", "bedrock/amazon.nova-lite-v1:0"),
        ("openai:codex-sdk", None),
        ("anthropic:claude-agent-sdk", None),
        ("google:live:gemini-2.0-flash", None),
        ("openai:completion:davinci-002", None),
        ("openai:", None),
        ("echo", None),
    ],
)
def test_names_of_providers(name: str, model: str | None) -> None:
    assert model_of_promptfoo(name) == model


def test_bare_names_of_models() -> None:
    assert model_of_bare_name("gpt-4o") == "openai/gpt-4o"
    assert model_of_bare_name("anthropic/claude-x") == "anthropic/claude-x"
    assert model_of_bare_name("mine") is None


# -- DeepEval ----------------------------------------------------------------------------


def test_a_test_file_of_deepeval_is_read_and_not_run(tmp_path: Path) -> None:
    done = migrate("test_shop.py", tmp_path)  # it raises when it is run
    assert "test_shop.py: 4 of 6 assertions mapped; 2 rows" in done.stdout
    assert "line 45: SummarizationMetric: has no counterpart" in done.stdout
    assert "line 46: ContextualRecallMetric: a test case has no contexts" in done.stdout
    assert "line 37: FaithfulnessMetric.evaluation_template: has no counterpart" in done.stdout
    assert "include_reason" not in done.stdout
    assert "line 51: LLMTestCase.input: question is computed when the test runs" in done.stdout
    (first, second) = rows_in(tmp_path)
    assert first["response"] == "Yes, within 30 days."
    assert first["contexts"] == ["Goods may be sent back within 30 days."]
    assert (second["user_input"], second["reference"]) == ("When do you open?", "At 9 a.m.")
    criterion = yaml.safe_load((tmp_path / "criteria" / "correctness.yaml").read_text())
    assert criterion["context_fields"] == ["reference"]
    assert criterion["description"].endswith("1. Compare the facts.\n2. Ignore the wording.")
    _, judged = run(tmp_path)
    assert judged == {
        "answer_relevance": {"line-30", "line-42"},
        "correctness": {"line-30", "line-42"},
        "groundedness": {"line-30"},
        "no_contradiction": {"line-30"},
    }


def test_answers_that_are_computed_need_a_target(tmp_path: Path) -> None:
    done = migrate("run_relevancy.py", tmp_path)
    assert "line 7: LLMTestCase.actual_output: answer('Do you sell shoes?') is" in done.stdout
    assert "eval.yaml needs answers before it can run" in done.stdout
    write(tmp_path, "shop.py", "def answer(user_input):\n    return f'{user_input} Yes.'\n")
    _, judged = run(tmp_path, "--target", "shop.py:answer")
    assert judged == {
        "answer_relevance": {"line-7", "line-8"},
        "social_bias": {"line-7", "line-8"},
    }


def test_a_name_that_is_assigned_twice_is_not_read(tmp_path: Path) -> None:
    """Which of the two answers is judged is only known when the test runs."""
    path = write(
        tmp_path,
        "test_x.py",
        "from deepeval import assert_test\n"
        "said = 'one'\nsaid = 'two'\n"
        "def test_a():\n"
        "    case = LLMTestCase(input='q', actual_output=said)\n"
        "    assert_test(case, [BiasMetric()])\n",
    )
    done = convert(path, tmp_path)
    assert "line 5: LLMTestCase.actual_output: said is computed" in done.stdout
    assert "response" not in rows_in(tmp_path)[0]


def test_rows_without_an_answer_are_set_apart(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "test_x.py",
        "from deepeval import evaluate\n"
        "evaluate([\n"
        "    LLMTestCase(input='q', actual_output='a'),\n"
        "    LLMTestCase(input='r', actual_output=app('r')),\n"
        "], [BiasMetric()])\n",
    )
    done = convert(path, tmp_path)
    assert "its row is in data/unanswered.jsonl" in done.stdout
    assert [row["user_input"] for row in rows_in(tmp_path)] == ["q"]
    assert run(tmp_path)[1] == {"social_bias": {"line-3"}}


def test_a_metric_used_twice_is_one_judge(tmp_path: Path) -> None:
    """Two judges of one name made an eval file that was refused; so did two cases on a line, whose
    rows had one id and counted as one.
    """
    path = write(
        tmp_path,
        "test_x.py",
        "from deepeval import evaluate\n"
        "a, b = 1, 2\n"
        "evaluate([LLMTestCase(input='q', actual_output='a', context=['c'])],"
        " [HallucinationMetric(threshold=0.5)])\n"
        "evaluate([LLMTestCase('r', 'b', context=['d']), LLMTestCase('s', 'c', context=['e'])],"
        " [HallucinationMetric(threshold=0.7)])\n",
    )
    convert(path, tmp_path)
    assert run(tmp_path)[1] == {"no_contradiction": {"line-3", "line-4", "line-4.2"}}


# -- Ragas -------------------------------------------------------------------------------


def test_a_script_with_ragas_runs(tmp_path: Path) -> None:
    done = migrate("score_rag.py", tmp_path)
    assert "score_rag.py: 5 of 6 assertions mapped; 2 rows" in done.stdout
    assert "line 27: context_entity_recall: has no counterpart" in done.stdout
    assert "line 30: evaluate.llm: is created in code" in done.stdout
    aspect, rag = eval_in(tmp_path)["judges"]
    assert aspect["criteria"] == [{"name": "brief", "description": "Is the answer one sentence?"}]
    assert rag["dimensions"] == ["groundedness", "answer_relevance"]
    assert rag["measures"] == ["context_precision", "correctness"]
    _, judged = run(tmp_path)
    assert judged["brief"] == {"row-1", "row-2"}


def test_a_file_of_rows_is_used_where_it_is(tmp_path: Path) -> None:
    write(tmp_path, "rows.csv", "question,answer,contexts\nq,a,\"['c']\"\n")
    path = write(
        tmp_path,
        "score.py",
        "from ragas import evaluate\nfrom ragas.metrics import faithfulness\n"
        "data = load_dataset('csv', data_files='rows.csv')['train']\n"
        "evaluate(data, metrics=[faithfulness])\n",
    )
    target = tmp_path / "evals"
    done = adjudge("init", "--from", path, "--folder", target, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert eval_in(target)["data"] == {"path": "../rows.csv"}
    ran = adjudge("run", "evals/eval.yaml", "-m", "scripted", "--trust", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_two_columns_of_one_field_are_reported(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "score.py",
        "from ragas import evaluate\n"
        "data = [{'question': 'q', 'user_input': 'other', 'answer': 'a'}]\n"
        "evaluate(Dataset.from_list(data), metrics=[answer_relevancy])\n",
    )
    done = adjudge("init", "--from", path, cwd=tmp_path)
    assert "line 2: dataset.user_input: another column is read as user_input" in done.stdout
    assert rows_in(tmp_path)[0]["user_input"] == "q"


# -- all ---------------------------------------------------------------------------------


def test_files_that_cannot_be_converted_are_refused(tmp_path: Path) -> None:
    for name, text, message in (
        ("a.py", "import os\n", "imports neither deepeval nor ragas"),
        ("b.py", "def (\n", "b.py:1 cannot be read as Python"),
        ("c.toml", "x = 1\n", "--from takes a promptfooconfig.yaml"),
        ("d.yaml", "x: 1\n", "is not a promptfoo configuration"),
        ("e.yaml", "prompts: ['{{q}}']\n", "nothing in it has a counterpart"),
        ("f.py", f"import ragas\nx = {'(' * 150}1{')' * 150}\n", "nothing in it has a counterpart"),
    ):
        done = adjudge("init", "--from", write(tmp_path, name, text), cwd=tmp_path)
        assert done.returncode == 1, name
        assert message in done.stderr, (name, done.stderr)
        assert "Traceback" not in done.stderr
    for name in ("missing.py", "missing.yaml"):
        done = adjudge("init", "--from", name, cwd=tmp_path)
        assert "missing" in done.stderr and "cannot be read: " in done.stderr
        assert "Python" not in done.stderr  # it was called Python that is nested too deeply
    assert not (tmp_path / "eval.yaml").exists()


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    write(tmp_path, "eval.yaml", "mine")
    done = migrate("score_rag.py", tmp_path)
    assert "kept eval.yaml" in done.stdout
    assert "Some files already existed" in done.stdout
    assert (tmp_path / "eval.yaml").read_text(encoding="utf-8") == "mine"


def test_a_target_answers_rows_whose_columns_have_any_names(tmp_path: Path) -> None:
    """Such rows were refused, since none of their columns is a field that a check reads."""
    write(tmp_path, "rows.jsonl", '{"id": "a", "topic": "tea"}\n')
    write(tmp_path, "prompt.txt", "About {topic}")
    write(
        tmp_path,
        "eval.yaml",
        "data: rows.jsonl\ntarget: {model: scripted}\nprompts: prompt.txt\n"
        "checks: [{words: {most: 99}}]\n",
    )
    assert run(tmp_path)[1] == {"words: at most 99": {"a"}}


@pytest.mark.parametrize(
    "more",
    [
        ("metric: q", "metric: q, weight: 2"),
        ("metric: has it", "metric: has-it"),
        ("weight: 3", "metric: '2'"),
    ],
)
def test_each_assert_has_a_column_of_its_own(tmp_path: Path, more: tuple[str, str]) -> None:
    path = write(
        tmp_path,
        "p.yaml",
        "prompts: ['{{q}}']\nproviders: [openai:gpt-4o]\ntests:\n"
        f"  - vars: {{q: a}}\n    assert: [{{type: contains, value: refund, {more[0]}}}]\n"
        f"  - vars: {{q: b}}\n    assert: [{{type: contains, value: parcel, {more[1]}}}]\n",
    )
    convert(path, tmp_path)
    columns = [check["contains"]["field"] for check in eval_in(tmp_path)["checks"]]
    assert len(set(columns)) == 2
    one, two = rows_in(tmp_path)
    assert [one[column] for column in columns] == ["refund", ""]
    assert [two[column] for column in columns] == ["", "parcel"]


def test_limits_of_a_table_and_commas_between_quotes(tmp_path: Path) -> None:
    write(
        tmp_path,
        "tests.csv",
        "q,__expected1,__expected2,__expected3,__expected4\n"
        'one,latency(5000),cost(0.01),"contains-any:""no, sorry"", no",five(5)\n',
    )
    path = write(
        tmp_path,
        "p.yaml",
        "prompts: ['{{q}}']\nproviders: [openai:gpt-4o]\ntests: tests.csv\n",
    )
    convert(path, tmp_path)
    assert eval_in(tmp_path)["checks"] == [
        {"latency": 5.0},
        {"cost": 0.01},
        {"contains": {"any": ["no, sorry", "no"], "case": True}},
        {"equals": "five(5)"},
    ]


def test_settings_of_ragas_metrics_are_mapped_or_reported(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "ra.py",
        "from ragas import evaluate\n"
        "from ragas.metrics import AspectCritic, FactualCorrectness\n"
        "from datasets import Dataset\n"
        'rows = {"question": ["q"], "answer": ["a"], "ground_truth": ["g"]}\n'
        "ds = Dataset.from_dict(rows)\n"
        'one = AspectCritic(name="harm", definition="Does it harm?", strictness=5)\n'
        'evaluate(ds, metrics=[one, FactualCorrectness(mode="recall", atomicity="high")])\n',
    )
    done = convert(path, tmp_path)
    assert "FactualCorrectness.mode: has no counterpart" in done.stdout
    assert "FactualCorrectness.atomicity: has no counterpart" in done.stdout
    assert "strictness" not in done.stdout
    assert (
        next(each for each in eval_in(tmp_path)["judges"] if each["kind"] == "aspect")["votes"] == 5
    )
