"""AWS credentials, and Signature Version 4 over one request."""

from __future__ import annotations

import configparser
import hmac
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from adjudge.errors import SetupError

_ALGORITHM = "AWS4-HMAC-SHA256"


class AwsCredentials(NamedTuple):
    """A pair of keys, with a token if they are temporary."""

    access_key: str
    secret_key: str
    session_token: str = ""

    def __repr__(self) -> str:
        return "AwsCredentials(…)"


def find_credentials() -> AwsCredentials:
    """Read the credentials from the environment, else from the profile in ``~/.aws/credentials``.

    Raises SetupError if there are none.
    """
    access_key = os.environ.get("AWS_ACCESS_KEY_ID", "")
    secret_key = os.environ.get("AWS_SECRET_ACCESS_KEY", "")
    if access_key and secret_key:
        return AwsCredentials(access_key, secret_key, os.environ.get("AWS_SESSION_TOKEN", ""))
    profile = os.environ.get("AWS_PROFILE") or "default"
    section = _section("AWS_SHARED_CREDENTIALS_FILE", "credentials", profile)
    access_key = section.get("aws_access_key_id", "")
    secret_key = section.get("aws_secret_access_key", "")
    if access_key and secret_key:
        return AwsCredentials(access_key, secret_key, section.get("aws_session_token", ""))
    raise SetupError(
        "bedrock needs credentials: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY; for single sign-on or a role, run 'aws configure "
        "export-credentials --format env' first"
    )


def find_region() -> str:
    """Return the region of the environment or of the profile; empty if none is set."""
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        if os.environ.get(variable):
            return os.environ[variable]
    profile = os.environ.get("AWS_PROFILE") or "default"
    name = profile if profile == "default" else f"profile {profile}"
    return _section("AWS_CONFIG_FILE", "config", name).get("region", "")


def _section(variable: str, file: str, section: str) -> Mapping[str, str]:
    path = Path(os.environ.get(variable) or f"~/.aws/{file}").expanduser()
    # Interpolation is off: a secret key may contain a percent sign.
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        raise SetupError(
            "{path} cannot be read as an AWS {file} file", path=path, file=file
        ) from None
    return dict(parser[section]) if parser.has_section(section) else {}


def sign(
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    credentials: AwsCredentials,
    region: str,
    service: str,
    *,
    method: str = "POST",
    now: datetime | None = None,
) -> dict[str, str]:
    """Return the headers that sign a request: ``X-Amz-Date``, ``Authorization`` and, with temporary
    credentials, ``X-Amz-Security-Token``.

    ``url`` must be written exactly as it is sent. ``headers`` are signed, too.
    """
    parts = urlsplit(url)
    moment = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    added = {"X-Amz-Date": moment}
    if credentials.session_token:
        added["X-Amz-Security-Token"] = credentials.session_token
    signed = {name.lower(): " ".join(value.split()) for name, value in {**headers, **added}.items()}
    signed["host"] = parts.netloc.rpartition("@")[2]
    names = ";".join(sorted(signed))
    request = "\n".join(
        (
            method,
            # Encoded once more than it is sent, as every service except S3 wants it.
            quote(parts.path or "/", safe="/-_.~"),
            _canonical_query(parts.query),
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            sha256(body).hexdigest(),
        )
    )
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = "\n".join((_ALGORITHM, moment, scope, sha256(request.encode()).hexdigest()))
    key = f"AWS4{credentials.secret_key}".encode()
    for step in scope.split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    added["Authorization"] = (
        f"{_ALGORITHM} Credential={credentials.access_key}/{scope}, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    return added


def _canonical_query(query: str) -> str:
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return "&".join(sorted(f"{name}={value}" for name, _, value in pairs))
