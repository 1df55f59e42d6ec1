"""Code out of replies."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.verdicts.code_text import extract_code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("output = 1", "output = 1"),
        ("```python\noutput = 1\n```", "output = 1"),
        ("Here it is:\n\n```py\noutput = 1\n```\nIt sets output.", "output = 1"),
        ("```Python\noutput = 1\n```", "output = 1"),
        ("```\noutput = 1\n```", "output = 1"),
        ("~~~python\noutput = 1\n~~~", "output = 1"),
        ("```python\r\noutput = 1\r\n```", "output = 1"),
        ("````python\ntext = '''\n```\n'''\n````", "text = '''\n```\n'''"),
        ("```python\noutput = 1", "output = 1"),
        ("```python title=x.py\noutput = 1\n```", "output = 1"),
        ("1. First:\n   ```python\n   def f():\n       return 1\n   ```", "def f():\n    return 1"),
        ("```bash\npip install x\n```\n```python\noutput = 1\n```", "output = 1"),
        ("```json\n{}\n```\n```\noutput = 1\n```", "output = 1"),
        ("```sql\nSELECT 1\n```", "SELECT 1"),
        (
            "```python\ndef f(): return 1\n```\nand\n```python\noutput = f()\n```",
            "def f(): return 1\n\noutput = f()",
        ),
        ("<think>```python\nbad\n```</think>\n```python\noutput = 1\n```", "output = 1"),
        ("```python\n```", "```python\n```"),
        ("", ""),
        ("x = '```'", "x = '```'"),
        ("    indented = 1\n", "indented = 1"),
        (
            "\n    def f():\n        return 1\n\n    output = f()\n",
            "def f():\n    return 1\n\noutput = f()",
        ),
        ("\tx = 1\n\toutput = x\n", "x = 1\noutput = x"),
        ("<think>Hm.</think>\n    output = 1", "output = 1"),
    ],
)
def test_what_stands_in_the_fences_is_the_code(text: str, code: str) -> None:
    assert extract_code(text) == code


@given(st.text(alphabet="ab `~\n", max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(extract_code(text), str)


@given(
    st.lists(
        st.sampled_from(["x = 1", "def f():", "    return 2", "", "# note"]), min_size=1
    ).filter(any)
)
def test_code_comes_back_as_it_went_in(lines: list[str]) -> None:
    code = "top = 0\n" + "\n".join(lines)
    assert extract_code(f"Text.\n```python\n{code}\n```\nMore.") == code.strip("\n")


@pytest.mark.parametrize(
    "text",
    [
        "```\n" * 50_000,
        "~" * 300_000,
        "`" * 300_000,
        " " * 300_000,
        (" " * 300 + "\n") * 1000,
        "<think>" * 50_000,
        "````\n```\n" * 9_000,
    ],
    ids=lambda text: repr(text[:9]),
)
def test_hostile_texts_take_no_long_time(text: str) -> None:
    started = time.process_time()
    extract_code(text)
    assert time.process_time() - started < 15
