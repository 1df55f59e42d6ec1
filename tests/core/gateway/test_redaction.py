"""Keys and passwords are struck out of addresses, and of what a server sends back however it writes
them.
"""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adjudge.core.gateway.redaction import secrets_in, strike_out, without_secrets

KEY = "sk/MARKED+7f3a-91c2="
KEYS = st.text("abcXYZ0189-_./+=", min_size=8, max_size=40)


@pytest.mark.parametrize(
    ("url", "shown", "secrets"),
    [
        ("http://host:8000/v1#m", "http://host:8000/v1#m", ()),
        ("http://me:pass@host/v1#m", "http://host/v1#m", ("pass", "me:pass")),
        ("http://a-token@host/v1", "http://host/v1", ("a-token",)),
        ("http://me:p%40ss%2F@host/v1", "http://host/v1", ("p@ss/", "me:p@ss/")),
        ("http://me:p@ss@host/v1", "http://host/v1", ("p@ss", "me:p@ss")),
        ("http://host/v1?api-key=abc#m", "http://host/v1#m", ("abc",)),
        ("http://host/v1?key=abc", "http://host/v1", ("abc",)),
        ("http://host/v1?api_key=a%2Bc&api-version=2", "http://host/v1?api-version=2", ("a+c",)),
        (
            "http://host/v1?api-version=2&subscription-key=abc&x=1#m",
            "http://host/v1?api-version=2&x=1#m",
            ("abc",),
        ),
        ("http://host/v1?access_token=abc&sig=def", "http://host/v1", ("abc", "def")),
        ("http://host/v1?x=1234567890abcdefABCDEF", "http://host/v1", ("1234567890abcdefABCDEF",)),
        (
            "http://host/v1?deployment=gpt-4o-mini-2024-07-18",
            "http://host/v1?deployment=gpt-4o-mini-2024-07-18",
            (),
        ),
        ("https://host/ai/v1#@cf/meta/llama-3", "https://host/ai/v1#@cf/meta/llama-3", ()),
        ("gpt-4o-mini", "gpt-4o-mini", ()),
    ],
)
def test_an_address_is_shown_without_what_is_secret_in_it(
    url: str, shown: str, secrets: tuple[str, ...]
) -> None:
    assert without_secrets(url) == shown
    assert secrets_in(url) == secrets


def in_base64(key: str, before: str = "") -> str:
    return base64.b64encode(f"{before}{key}:".encode()).decode()


@pytest.mark.parametrize(
    "echo",
    [
        KEY,
        json.dumps(KEY).replace("/", "\\/"),
        "".join(f"\\u{ord(one):04x}" for one in KEY),
        "".join(f"\\\\u{ord(one):04X}" for one in KEY),
        "".join(f"\\u005cu{ord(one):04x}" for one in KEY),
        "".join(f"\\x{ord(one):02x}" for one in KEY),
        quote(KEY, safe=""),
        quote(quote(KEY, safe=""), safe=""),
        "".join(f"%{ord(one):02x}" for one in KEY),
        "".join(f"&#{ord(one)};" for one in KEY),
        "".join(f"&amp;#x{ord(one):x};" for one in KEY),
        KEY[:5] + quote(KEY[5:], safe=""),
        *(in_base64(KEY, before) for before in ("", "u", "us", "user:", "Bearer ")),
        base64.urlsafe_b64encode(f"a{KEY}".encode()).decode(),
    ],
)
def test_a_key_is_struck_out_however_it_is_written(echo: str) -> None:
    left = strike_out(f'{{"error": "your key {echo} is wrong"}}'.encode(), (KEY,))
    assert b"***" in left
    for piece in (b"MARKED", b"7f3a", base64.b64encode(b"MARKED")):
        assert piece not in left


@given(KEYS, st.binary(max_size=40), st.binary(max_size=40))
def test_no_key_is_left_wherever_it_stands(key: str, before: bytes, after: bytes) -> None:
    assume("***" not in key)
    assert key.encode() not in strike_out(before + key.encode() + after, (key,)).replace(
        b"***", b"\0"
    )


@given(
    KEYS,
    st.text(max_size=20),
    st.sampled_from(["\\u{:04x}", "%{:02X}", "&#{};", "\\\\u{:04x}"]),
    st.data(),
)
def test_any_of_its_characters_may_be_escaped(
    key: str, text: str, escape: str, data: st.DataObject
) -> None:
    chosen = data.draw(st.sets(st.integers(0, len(key) - 1), min_size=1))
    echo = "".join(
        escape.format(ord(one)) if place in chosen else one for place, one in enumerate(key)
    )
    assert b"***" in strike_out(f"{text} {echo}".encode(errors="replace"), (key,))


@given(st.binary(max_size=300))
def test_what_holds_no_key_is_left_as_it_is(body: bytes) -> None:
    body = body.replace(b"\0", b"")
    assert strike_out(body, ("sk-MARKED-7f3a91c2d4e8b605",)) == body or not body.replace(b"\\", b"")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-32"])
def test_a_key_is_struck_out_of_wide_characters(encoding: str) -> None:
    left = strike_out(f'{{"error": "your key {KEY} is wrong"}}'.encode(encoding), (KEY,))
    assert b"***" in left
    assert b"MARKED" not in left.replace(b"\0", b"")


def test_a_reply_that_is_all_escapes_is_not_looked_through() -> None:
    assert strike_out(b'{"error": "' + rb"\u0041" * 200_000 + b'"}', (KEY,)) == b""


def test_a_word_as_short_as_a_dummy_key_stays() -> None:
    assert strike_out(b"EMPTY and none", ("EMPTY", "none", "")) == b"EMPTY and none"
