"""The tokens of a judgment, part by part, and what small models answer to other forms of a prompt.

    python benchmarks/prompt_forms.py [--tokens] [--data FOLDER] [--limit 60] [--longest 1500]
    [--form FILE.jinja ...] [--models local/smollm2-135m-raw local/smollm2-135m FILE.gguf]

Tokens are those of the embedded model's tokenizer. The forms of the prompt of an aspect are in
``forms``; ``--form`` adds others. "today" is the installed one.

With data: a verdict is the log-odds of PASS against FAIL after the prompt and the beginning of a
reply. Two forms say the same as "today" in other ways, at its length: "reversed" has its rules in
reverse, "reworded" has other words. Their distance from "today" is what any change of words does.
A small model leans to one verdict, so "same" compares the sides of each form's own median. "moved"
is the share of texts that people failed which get to the PASS side if a text that talks to the
judge is added.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import cast

import jinja2
import numpy as np

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import ChatMessage, Prompt, Role
from adjudge.core.domain.question import Comparison, Rating, question_of
from adjudge.core.domain.vote import Ballot
from adjudge.core.judges.aspect import FAIL, PASS, aspect_criteria
from adjudge.core.prompts import renderer
from adjudge.core.prompts.fence import fence
from adjudge.core.prompts.languages import LANGUAGES
from adjudge.features.local.llama import Llama
from adjudge.features.local.onnx.scorer import Scorer
from adjudge.features.local.onnx.tokenizer import Tokenizer
from adjudge.features.local.provider import LocalModel, _scorer
from adjudge.features.local.weights.gguf import read_header
from adjudge.features.rag.judge import RagEvaluator
from adjudge.features.stress.attacks.families import families
from adjudge.stats.intervals import wilson

BEGUN = '{"explanation": "…", "selected_option": "'
DRAWS = 1000
_RULES = re.compile(r"(?:^- .*\n)+", re.MULTILINE)
TODAY = renderer._TODAY / "en" / "aspect.jinja"
FORMS = sorted((Path(__file__).parent / "forms").glob("aspect_*.jinja"))
# Second line of a form whose texts stand between marks of half the tokens.
SHORT_MARKS = "marks: short\n"
_FENCED = re.compile(r'<data-\w+ field="(.+?)">\n(.*)\n</data-\w+>', re.DOTALL)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
EMBEDDED = "local/smollm2-135m-raw"


@dataclass(frozen=True)
class Item:
    """A text, and what people said of it. The texts of one row are drawn together."""

    row: str
    definition: str
    fields: Mapping[str, str]
    passed: bool


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", action="store_true", help="ask no model")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--limit", type=int, default=60, help="texts a set; 0 takes all")
    parser.add_argument("--longest", type=int, default=1500, help="characters of a row's texts")
    parser.add_argument("--form", type=Path, nargs="*", default=[], help="further templates")
    parser.add_argument("--models", nargs="*", default=[EMBEDDED, "local/smollm2-135m"])
    args = parser.parse_args()
    today = TODAY.read_text(encoding="utf-8")
    forms = {
        "today": today,
        "reversed": _RULES.sub(_reversed, today),
        **{
            path.stem.removeprefix("aspect_"): path.read_text(encoding="utf-8")
            for path in (*FORMS, *args.form)
        },
    }
    print_tokens()
    print_forms(forms)
    if args.tokens:
        return
    if not args.data.is_dir():
        raise SystemExit(f"{args.data} is not there: the records are not part of this project")
    sets = {name: drawn(list(build(args.data)), args) for name, build in SETS.items()}
    for name in args.models:
        measure(open_scorer(name), name, forms, sets)


# -- tokens --------------------------------------------------------------------

PARTS = ("role, headings", "rules", "material rule", "answer format", "marks", "schema")
QUESTION = "Can you explain the main idea of photosynthesis in two sentences?"
ANSWER = "Plants turn light, water and carbon dioxide into sugar, and give off oxygen."
CONTEXTS = ("Plants make sugar from light, water and carbon dioxide.", "They give off oxygen.")
DEFINITION = "The response answers the question directly and stays on the topic."


def ballots(language: str) -> dict[str, Ballot]:
    """Return a judgment of each kind about the same texts."""
    asked = Instance({"user_input": QUESTION, "response": ANSWER})
    several = Instance({"user_input": QUESTION, "response": [ANSWER, CONTEXTS[0], CONTEXTS[1]]})
    row = Instance({"user_input": QUESTION, "contexts": CONTEXTS, "response": ANSWER})
    levels = [("Good", "It answers all."), ("Fair", "It answers a part."), ("Bad", "It does not.")]
    options = [
        CriteriaOption(name, text, score=2.0 - place) for place, (name, text) in enumerate(levels)
    ]
    direct = Criteria("topic", DEFINITION, options)
    compared = Criteria("topic", DEFINITION, [])
    work = aspect_criteria("topic", DEFINITION)
    own = [
        ("aspect", work, asked, question_of(work), "aspect"),
        ("direct", direct, asked, question_of(direct), "direct"),
        ("pairwise", compared, several, Comparison((0, 1)), "pairwise"),
        ("ranking of three", compared, several, Comparison((0, 1, 2)), "pairwise"),
        ("code review", work, asked, question_of(work), "qualitative"),
        ("number", direct, asked, Rating((0.0, 10.0)), "quantitative"),
    ]
    made = {
        kind: Ballot(criteria, instance, question, template, "m", language)
        for kind, criteria, instance, question, template in own
    }
    judge = RagEvaluator(
        lambda _: "",
        dimensions=["groundedness"],
        measures=["context_precision"],
        evidence="each",
        language=language,
    )
    names = {"direct": "RAG dimension", "check": "RAG check", "evidence": "RAG evidence"}
    for ballot in judge.plan_all(row):
        made.setdefault(names[ballot.template], ballot)
    return made


def print_tokens() -> None:
    """Print the size of one request of each kind, in each language."""
    print(f"| language | kind | {' | '.join(PARTS)} | fixed | the user's | all |")
    print(f"|---|---|{'--:|' * (len(PARTS) + 3)}")
    for language in LANGUAGES:
        for kind, ballot in ballots(language).items():
            sizes, own = parts_of(ballot)
            figures = [*sizes.values(), sum(sizes.values()), own, sum(sizes.values()) + own]
            print(f"| {language} | {kind} | {' | '.join(map(str, figures))} |")
    print(flush=True)


def print_forms(forms: Mapping[str, str]) -> None:
    """Print the size of the same aspect judgment in each form."""
    schema = _schema_tokens(ballots("en")["aspect"])
    print("| form | tokens of an aspect judgment |\n|---|--:|")
    for name, form in forms.items():
        prompt = prompt_in(form, DEFINITION, {"user_input": QUESTION, "response": ANSWER})
        size = sum(count(message.content) for message in prompt.messages) + schema
        print(f"| {name} | {size} |", flush=True)


def parts_of(ballot: Ballot) -> tuple[dict[str, int], int]:
    """Return the tokens of each part of a request, and of the user's criterion and texts."""
    system, user = (
        message.content.splitlines(keepends=True) for message in renderer.render(ballot).messages
    )
    criteria = ballot.criteria
    shown = {*criteria.definition.splitlines(), *(f"“{criteria.title}”",)}
    shown |= {f"- {option.name}: {option.description}" for option in criteria.options}
    sizes, own, inside = dict.fromkeys(PARTS, 0), 0, False
    for line in system:
        if line.strip() in shown:
            own += count(line)
        else:
            sizes[_part(line)] += count(line)
    for line in user:
        if re.match(r"</?data-", line):
            inside = not line.startswith("</")
            sizes["marks"] += count(line)
        elif inside:
            own += count(line)
        else:
            sizes["role, headings"] += count(line)
    sizes["schema"] = _schema_tokens(ballot)
    return sizes, own


def _schema_tokens(ballot: Ballot) -> int:
    schema = ballot.question.schema(feedback=ballot.feedback)
    return count(json.dumps(schema, separators=(",", ":"), ensure_ascii=False))


def _part(line: str) -> str:
    if "<data-" in line:
        return "material rule"
    if re.match(r"Answer|Ответьте|{", line):
        return "answer format"
    return "rules" if line.startswith("- ") else "role, headings"


def count(text: str) -> int:
    return len(_tokenizer().encode(text))


@cache
def _tokenizer() -> Tokenizer:
    header = read_header(LocalModel(EMBEDDED)._path)
    vocabulary = (header.metadata[f"tokenizer.ggml.{name}"] for name in ("tokens", "merges"))
    return Tokenizer(*vocabulary, header.special_tokens)


# -- forms ---------------------------------------------------------------------


def _reversed(rules: re.Match[str]) -> str:
    return "".join(reversed(rules[0].splitlines(keepends=True)))


def prompt_in(form: str, definition: str, fields: Mapping[str, str]) -> Prompt:
    """Return the prompt of an aspect judgment in a template that may not be installed."""
    head, *sections = renderer._SECTION.split(form)
    parts = fence(fields)
    values = {
        "definition": definition,
        "options": [PASS, FAIL],
        "field": "response",
        "parts": _with_short_marks(parts) if head.endswith(SHORT_MARKS) else parts,
    }
    return Prompt(
        tuple(
            ChatMessage(cast(Role, role), _compiled(text).render(values).strip())
            for role, text in zip(sections[::2], sections[1::2], strict=True)
        )
    )


@cache
def _compiled(text: str) -> jinja2.Template:
    return renderer._ENVIRONMENT.from_string(text)


def _with_short_marks(parts: Sequence[str]) -> list[str]:
    """Return the texts between marks with a code of eight letters and the bare name of the field.

    Models read random digits almost one by one, but two letters at once.
    """
    fenced = [found.groups() for found in map(_FENCED.fullmatch, parts) if found]
    digest = hashlib.sha256("\0".join(text for pair in fenced for text in pair).encode())
    number = int.from_bytes(digest.digest()[:8], "big")
    code = "".join(_LETTERS[number // 26**place % 26] for place in range(8))
    return [f"<data-{code} {name}>\n{text}\n</data-{code}>" for name, text in fenced]


# -- sets ----------------------------------------------------------------------


def rows_of(data: Path, name: str) -> Iterator[dict[str, object]]:
    for line in (data / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def pairs(name: str, rule: Callable[[Mapping[str, object]], str]) -> Callable[..., Iterable[Item]]:
    """Return a reader of pairs: the better response passes, the other one fails."""

    def read(data: Path) -> Iterable[Item]:
        for row in rows_of(data, name):
            if str(row["label"]) not in "12":  # a tie says nothing of either
                continue
            question = f"{row['instruction']}\n{row.get('context') or ''}".strip()
            for number in "12":
                fields = {"user_input": question, "response": str(row[f"response_{number}"])}
                yield Item(str(row["id"]), rule(row), fields, str(row["label"]) == number)

    return read


def qags(data: Path) -> Iterable[Item]:
    rule = "Everything in the response is supported by the context."
    for row in rows_of(data, "qags_cnn"):
        fields = {"contexts": str(row["context"]), "response": str(row["response"])}
        yield Item(str(row["id"]), rule, fields, float(str(row["human_consistency"])) > 0.5)


def halueval(data: Path) -> Iterable[Item]:
    rule = "The response contains no false or made-up statement."
    for row in rows_of(data, "halueval400"):
        fields = {"user_input": str(row["instruction"]), "response": str(row["response"])}
        yield Item(str(row["id"]), rule, fields, row["label"] == "no")


def rag(data: Path) -> Iterable[Item]:
    rule = "The response is correct, safe and supported by the context."
    for row in rows_of(data, "rag25"):
        keys = {"user_input": "question", "contexts": "context", "response": "response"}
        fields = {name: str(row[key]) for name, key in keys.items()}
        yield Item(str(row["id"]), rule, fields, row["label"] == "Correct")


def ragas(data: Path) -> Iterable[Item]:
    rules = {
        "helpfulness": "The response helps with what was asked.",
        "summary_accuracy": "The response is an accurate summary of the text.",
        "answer_correctness": "The response agrees with the reference.",
    }
    for row in rows_of(data, "ragas_annotated"):
        texts = row["input"]
        assert isinstance(texts, dict)
        fields = {name: str(text) for name, text in texts.items() if name != "response"}
        passed = bool(row["judge_verdict"]) == bool(row["is_accepted"])
        fields["response"] = str(texts["response"])
        yield Item(str(row["id"]), rules[str(row["metric"])], fields, passed)


def agents(data: Path) -> Iterable[Item]:
    rule = "The response is what the task asks for, and agrees with the results of the tools."
    for row in rows_of(data, "agent_cases"):
        fields = {
            "user_input": str(row["prompt"]),
            "steps": json.dumps(row["trajectory"], ensure_ascii=False),
            "response": json.dumps(row["agent_output"], ensure_ascii=False),
        }
        yield Item(str(row["source_task_id"]), rule, fields, row["label"] == "correct")


SETS: dict[str, Callable[[Path], Iterable[Item]]] = {
    "hhh": pairs("hhh", lambda row: f"The response is {row['category']}."),
    "halueval400": halueval,
    "llmbar": pairs("llmbar", lambda _: "The response does exactly what the instruction asks."),
    "pandalm": pairs("pandalm", lambda _: "The response is correct, concise and follows the task."),
    "qags_cnn": qags,
    "rag25": rag,
    "ragas_annotated": ragas,
    "agent_cases": agents,
}


def drawn(items: list[Item], args: argparse.Namespace) -> list[Item]:
    """Return items that are not too long, whole rows at a time."""
    short = [item for item in items if sum(map(len, item.fields.values())) <= args.longest]
    rows = sorted({item.row for item in short})
    random.Random(7).shuffle(rows)
    place = {row: number for number, row in enumerate(rows)}
    ordered = sorted(short, key=lambda item: place[item.row])
    return ordered[: args.limit or len(ordered)]


def attacked(items: Sequence[Item]) -> list[tuple[Item, Item]]:
    """Return failed items, each with a text that tells a judge what to answer: (before, after)."""
    failed = [item for item in items if not item.passed and len(item.fields["response"]) < 600]
    changed: list[tuple[Item, Item]] = []
    for family in families().values():
        if not family.instructs or family.is_for_context:
            continue
        for number in range(family.count("en")):
            item = failed[len(changed) % len(failed)]
            text = family.apply(number, item.fields["response"], PASS, "en")
            changed.append((item, replace(item, fields={**item.fields, "response": text})))
    return changed


# -- models --------------------------------------------------------------------

Scored = Callable[[Sequence[Prompt]], list[float]]
"""Returns the log-odds of PASS for each prompt."""


def open_scorer(name: str) -> Scored:
    """Open a local model; a file is a model without a chat template, and is shown plain text."""
    if name.endswith(".gguf"):
        return _of_file(Path(name))
    scorer = _embedded(name)
    scorer._after = [*scorer._after, *scorer._tokenizer.encode(BEGUN)]
    labels = _first_tokens(scorer)

    def score(prompts: Sequence[Prompt]) -> list[float]:
        odds = [0.0] * len(prompts)
        # Prompts that are scored together must share their beginning.
        by_system: dict[str, list[int]] = {}
        for place, prompt in enumerate(prompts):
            by_system.setdefault(prompt.messages[0].content, []).append(place)
        for places in by_system.values():
            scores = scorer.score([prompts[place] for place in places], [labels] * len(places))
            for place, entry in zip(places, scores, strict=True):
                if isinstance(entry, Exception):
                    raise entry
                odds[place] = entry.logprobs[labels[0]] - entry.logprobs[labels[1]]
        return odds

    return score


def _first_tokens(scorer: Scorer) -> tuple[str, str]:
    """Return the first tokens of PASS and FAIL, as text."""
    firsts = [
        next(
            option[:length]
            for length in range(len(option), 0, -1)
            if scorer._tokenizer.encode(option)[:1] == scorer._tokenizer.encode(option[:length])
        )
        for option in (PASS, FAIL)
    ]
    return firsts[0], firsts[1]


def _embedded(name: str) -> Scorer:
    model = LocalModel(name)
    assert model._scored_as, f"{name} is not scored on onnxruntime"
    # A scorer of its own: the frame of this one is changed.
    return _scorer.__wrapped__(
        model._scored_as, model._path, model._adapter, model._precision, os.getpid()
    )


def _of_file(path: Path) -> Scored:
    llama = Llama(path)
    llama._before, llama._between, llama._after = "<bos>", "\n\n", f"\n\nThe answer:\n{BEGUN}"
    # Its prompts end in text, so that labels begin without a space.
    llama._label = lambda label: llama._tokens(label, False)[0]  # type: ignore[method-assign]

    def score(prompts: Sequence[Prompt]) -> list[float]:
        odds = []
        for prompt in prompts:
            logprobs = llama.score(prompt, (PASS, FAIL)).logprobs
            odds.append(logprobs[PASS] - logprobs[FAIL])
        return odds

    return score


# -- figures -------------------------------------------------------------------


@dataclass
class Answers:
    """What a model answered in one form to the items of one set."""

    odds: np.ndarray
    aucs: np.ndarray
    """The AUC of all items, then of each resample."""

    @property
    def middle(self) -> float:
        return float(np.median(self.odds))

    @property
    def passes(self) -> np.ndarray:
        return self.odds > self.middle


def measure(
    score: Scored, model: str, forms: Mapping[str, str], sets: Mapping[str, Sequence[Item]]
) -> None:
    """Print a line for each set and form, one for each form over all sets, and the attacks."""
    print(f"\n{Path(model).name}\n\n| set | texts | form | AUC | AUC - today | same as today |")
    print("|---|--:|---|---|---|---|")
    answers: dict[str, dict[str, Answers]] = {name: {} for name in forms}
    for set_name, items in sets.items():
        for name, form in forms.items():
            odds = _odds(score, form, items)
            answers[name][set_name] = Answers(odds, _aucs(items, odds))
            _print_line(set_name, len(items), name, answers, [set_name])
    for name in forms:
        _print_line("all", sum(map(len, sets.values())), name, answers, list(sets))
    print("\n| form | attacked | moved to PASS | log-odds moved by, median |\n|---|--:|---|--:|")
    for name, form in forms.items():
        before, after = (
            _odds(score, form, items) for items in zip(*attacked(sets["pandalm"]), strict=True)
        )
        middle = answers[name]["pandalm"].middle
        moved = (after > middle)[before <= middle]
        shift = np.median(after - before)
        print(f"| {name} | {len(moved)} | {_share(moved)} | {shift:+.2f} |", flush=True)


def _print_line(
    shown: str,
    texts: int,
    name: str,
    answers: Mapping[str, Mapping[str, Answers]],
    sets: Sequence[str],
) -> None:
    form, today = ([answers[key][set_name] for set_name in sets] for key in (name, "today"))
    aucs, todays_aucs = (
        np.mean([entry.aucs for entry in entries], axis=0) for entries in (form, today)
    )
    same = np.concatenate(
        [entry.passes == of_today.passes for entry, of_today in zip(form, today, strict=True)]
    )
    print(
        f"| {shown} | {texts} | {name} | {_interval(aucs)} | {_interval(aucs - todays_aucs)} | "
        f"{_share(same)} |",
        flush=True,
    )


def _odds(score: Scored, form: str, items: Sequence[Item]) -> np.ndarray:
    return np.array(score([prompt_in(form, item.definition, item.fields) for item in items]))


def _aucs(items: Sequence[Item], odds: np.ndarray) -> np.ndarray:
    """Return the AUC, and that of each resample of whole rows: the same rows for every form."""
    rows: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        rows.setdefault(item.row, []).append(place)
    groups = list(rows.values())
    rng = random.Random(13)
    samples = [
        [place for group in rng.choices(groups, k=len(groups)) for place in group]
        for _ in range(DRAWS)
    ]
    passed = np.array([item.passed for item in items])
    return np.array(
        [_auc(passed[places], odds[places]) for places in (list(range(len(items))), *samples)]
    )


def _auc(passed: np.ndarray, odds: np.ndarray) -> float:
    if passed.all() or not passed.any():
        return 0.5  # a resample without one of the kinds says nothing
    differences = odds[passed][:, None] - odds[~passed][None, :]
    return float((np.sign(differences).mean() + 1) / 2)


def _interval(values: np.ndarray) -> str:
    lower, upper = np.quantile(values[1:], (0.025, 0.975))
    return f"{values[0]:.3f} ({lower:+.3f} to {upper:+.3f})"


def _share(values: Sequence[bool] | np.ndarray) -> str:
    hits = int(np.sum(values))
    interval = wilson(hits, len(values))
    return f"{hits / len(values):.3f} ({interval.lower:.3f} to {interval.upper:.3f})"


if __name__ == "__main__":
    main()
