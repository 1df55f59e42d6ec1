"""Public sets that are only measured with: answers and summaries that people compared with their
sources.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

from training.claims.records import Answer
from training.claims.repositories import Mirror, plain

_LONGEST = 2500
"""Words a source may have."""
_DOMAINS = (
    "ectsum",
    "news",
    "podcast",
    "qmsumm",
    "sales_call",
    "sales_email",
    "samsum",
    "scitldr",
)
RAG = (
    "AttributedQA",
    "ExpertQA",
    "LFQA",
    "Stanford-GenSearch",
    "AttrScore-GenSearch",
    "HAGRID",
)
"""Answers of real systems (AttributionBench)."""
_RAG_PARTS = ("test_ood_all_subset_balanced", "test_all_subset_balanced_sampled500")
OVERLAPPING = (
    *(f"summedits_{domain}" for domain in _DOMAINS),
    "bump",
    "fib_xsum",
    "symmetric",
    "foolmetwice",
)
"""Sets whose false sentences are in nearly the same words as true ones."""
SUMMARIES = ("qags_cnndm", "qags_xsum", "xsumfaith", "defacto")
STATEMENTS = ("wice", "wice_cut", "begin", "dialfact")
RELATED = ("wice", "wice_cut", "defacto", "begin", "foolmetwice", "symmetric")
"""Sets of which another part is trained on."""


def answers(mirror: Mirror, rng: random.Random) -> list[Answer]:
    """All of them."""
    parts = (_rag(mirror), _edits(mirror, rng), _summaries(mirror, rng), _facts(mirror, rng))
    return [one for part in parts for one in part if one.document.strip() and one.text.strip()]


def development(mirror: Mirror, measured: Sequence[Answer]) -> list[Answer]:
    """Answers of real systems that choices are made by, about other documents."""
    known = {one.group for one in measured}
    return [one for one in _rag(mirror, ("dev_all_subset_balanced",)) if one.group not in known]


def _rag(mirror: Mirror, parts: Sequence[str] = _RAG_PARTS) -> Iterator[Answer]:
    for part in parts:
        for row in mirror.lines("OSU-NLP-Group/AttributionBench", f"data/{part}.jsonl"):
            told = " ".join(row["references"])
            if row["src_dataset"] in RAG and len(told.split()) < _LONGEST:
                supported = row["attribution_label"] == "attributable"
                yield Answer(
                    row["src_dataset"], told, row["claim"], supported, row["question"] or ""
                )


def _edits(mirror: Mirror, rng: random.Random) -> Iterator[Answer]:
    for domain in _DOMAINS:
        path = f"data/summedits/summedits_{domain}.json"
        rows = json.loads(mirror.text("salesforce/factualNLG", path))
        for row in rng.sample(rows, min(220, len(rows))):
            yield Answer(f"summedits_{domain}", row["doc"], row["summary"], bool(row["label"]))
    rows = json.loads(mirror.text("dataminr-ai/BUMP", "data/task1_dataset.json"))
    for row in rng.sample(rows, min(350, len(rows))):
        yield Answer("bump", row["article"], row["reference_summary"], True)
        yield Answer("bump", row["article"], row["edited_summary"], False)


def _summaries(mirror: Mirror, rng: random.Random) -> Iterator[Answer]:
    for name in ("cnndm", "xsum"):
        for row in mirror.lines("W4ngatang/qags", f"data/mturk_{name}.jsonl"):
            said = row["summary_sentences"]
            text = " ".join(one["sentence"] for one in said)
            yield Answer(f"qags_{name}", row["article"], text, all(map(_agreed, said)))
    documents = {}
    for path in mirror.paths("r-three/fib", "multiple_choice-dataset/xsum"):
        rows = mirror.lines("r-three/fib", path)
        documents |= {str(row["id"]): row["input"] for row in rows if "input" in row}
        if path.endswith("fib/binary_choice-using_t5-large_distractors.jsonl"):
            for row in rows:
                for place, text in enumerate(row["list_choices"]):
                    yield Answer("fib_xsum", row["input"], text, place == row["lbl"])
    faithful = list(_xsum_faith(mirror, documents))
    yield from rng.sample(faithful, min(900, len(faithful)))
    for row in mirror.lines("microsoft/DeFacto", "data/test.jsonl"):
        yield Answer("defacto", row["article"], row["candidate"], not row["has_error"])


def _agreed(sentence: dict[str, list[dict[str, str]]]) -> bool:
    said = [one["response"] == "yes" for one in sentence["responses"]]
    return 2 * sum(said) > len(said)


def _xsum_faith(mirror: Mirror, documents: dict[str, str]) -> Iterator[Answer]:
    """Faithful where fewer than half of the people marked something as made up."""
    marks: dict[tuple[str, str], dict[str, bool]] = defaultdict(lambda: defaultdict(bool))
    name = "google-research-datasets/xsum_hallucination_annotations"
    for row in mirror.table(name, "hallucination_annotations_xsum_summaries.csv"):
        marked = row["hallucination_type"] not in ("NULL", "")
        marks[row["bbcid"], row["summary"]][row["worker_id"]] |= marked
    for (document, text), people in marks.items():
        if document in documents:
            faithful = 2 * sum(people.values()) < len(people)
            yield Answer("xsumfaith", documents[document], text, faithful)


def _facts(mirror: Mirror, rng: random.Random) -> Iterator[Answer]:
    for row in mirror.lines("ryokamoi/wice", "data/entailment_retrieval/claim/test.jsonl"):
        told = "\n".join(row["evidence"])
        yield Answer("wice", told, row["claim"], row["label"] == "supported")
    path = "code_and_resources/entailment_inputs/oracle_chunks/claim/test.jsonl"
    for row in mirror.lines("ryokamoi/wice", path):
        told = row["evidence"] if isinstance(row["evidence"], str) else " ".join(row["evidence"])
        yield Answer("wice_cut", told, row["claim"], row["label"] == "supported")
    rows = mirror.table("google/BEGIN-dataset", "wow/begin_test_wow.tsv", "\t")
    for cells in rng.sample(rows, min(1200, len(rows))):
        supported = cells["begin_label"].strip().lower() == "fully attributable"
        yield Answer("begin", plain(cells["knowledge"]), plain(cells["response"]), supported)
    for row in mirror.lines("salesforce/DialFact", "scripts/testsmall.jsonl"):
        if row.get("evidence_list"):
            told = " ".join(one[2] for one in row["evidence_list"])
            yield Answer("dialfact", told, row["response"], row["response_label"] == "SUPPORTS")
    rows = mirror.lines("google-research/fool-me-twice", "dataset/test.jsonl")
    for row in rng.sample(rows, min(600, len(rows))):
        told = " ".join(one["text"] for one in row["gold_evidence"])
        yield Answer("foolmetwice", told, row["text"], row["label"] == "SUPPORTS")
    path = "symmetric_v0.2/fever_symmetric_test.jsonl"
    for row in mirror.lines("TalSchuster/FeverSymmetric", path):
        told = row.get("evidence_sentence") or row["evidence"]
        supported = (row.get("gold_label") or row["label"]) == "SUPPORTS"
        yield Answer("symmetric", plain(told), plain(row["claim"]), supported)
