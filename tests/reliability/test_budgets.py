"""A limit on calls over many resumes, on a server that fails in every way, with processes that are
killed −9: what the server saw is never more than the limit.

``ADJUDGE_RESUMES`` says how often it is resumed (``make test-reliability``: 10), every second time
until it is killed.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from adjudge.runs.folder import run_info
from support.asking import asked_or_ended, marked, wait_until
from support.fake_provider import (
    CUT_EARLY,
    CUT_LATE,
    EMPTY,
    FILTERED,
    HANGS,
    HTML,
    KEY,
    MALFORMED,
    NULL,
    PROSE,
    REFUSES,
    TRUNCATED,
    Bills,
    FakeProvider,
    Fault,
    Rejects,
)
from support.fake_provider import Status as Code

RESUMES = int(os.environ.get("ADJUDGE_RESUMES", "3"))
EVERY_KIND: tuple[Fault | None, ...] = (
    *[None] * 12,
    *(Code(code) for code in (400, 408, 413, 429, 500, 503)),
    *(
        CUT_EARLY,
        CUT_LATE,
        EMPTY,
        FILTERED,
        HANGS,
        HTML,
        MALFORMED,
        NULL,
        PROSE,
        REFUSES,
        TRUNCATED,
    ),
    *(
        Bills(None),
        Bills({"prompt_tokens": -1}),
        Rejects("temperature"),
        Rejects("response_format"),
    ),
)
ROWS, CALLS = 600, 60
"""Each resume may send so many more."""
CHILD = f"""
import sys
from adjudge import AspectCritic, open_model
from adjudge.runs import Budget
url, folder, key, limit = sys.argv[1:]
texts = [f"REC-{{number:05}}-{{'N' if number % 3 == 0 else 'Y'}}" for number in range({ROWS})]
limits = dict(max_concurrency=8, timeout=0.3, max_retries=2)
model = open_model("openai/gpt-4o-mini", base_url=url, api_key=key, **limits)
critic = AspectCritic("The mark must end in Y.", model, strictness=2)
critic.evaluate(texts, run=folder, budget=Budget(max_calls=int(limit)))
"""


def fault(record: int, attempt: int) -> Fault | None:
    """By the record and the attempt alone; the very first record is answered."""
    return random.Random(f"{record} {attempt}").choice(EVERY_KIND) if record else None


def test_the_server_never_sees_more_than_the_limit(tmp_path: Path, provider: FakeProvider) -> None:
    provider.faults = fault
    provider.latency = 0.01
    pick, seen = random.Random(3), []
    for resume in range(RESUMES):
        before, limit = len(provider.requests), CALLS * (resume + 1)
        arguments = (provider.base_url("openai"), str(tmp_path / "run"), KEY, str(limit))
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, *arguments], stderr=subprocess.DEVNULL
        )
        if resume % 2 == 0 and resume < RESUMES - 1:
            wait_until(asked_or_ended(provider, before, child))
            time.sleep(pick.uniform(0, 0.3))
            child.kill()
        child.wait(600)
        seen.append(len(provider.requests))
        assert seen[-1] <= limit
    print(f"\n{RESUMES} resumes, {CALLS} calls more each time: the server saw {seen}")
    assert seen[-1] > limit // 2, "a kill costs little of what is left"
    info = run_info(tmp_path / "run")
    assert "max_calls" in info.state
    assert 0 < info.votes <= len(marked(ROWS)) * 2
