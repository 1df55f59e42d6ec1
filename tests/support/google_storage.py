"""A server that speaks the XML API of Google Cloud Storage: ``python google_storage.py PORT``.

No emulator in the package registries does. Google's API is that of S3 but for who is let in and for
the header of a conditional request, so moto's S3 server answers behind those two.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.server import MotoRequestHandler
from werkzeug.serving import run_simple

_SOMEBODY = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, Signature=b"
_S3 = DomainDispatcherApplication(create_backend_app)


def google_storage(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    environ["HTTP_AUTHORIZATION"] = _SOMEBODY
    if environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None) == "0":
        environ["HTTP_IF_NONE_MATCH"] = "*"
    answer: Iterable[bytes] = _S3(environ, start_response)
    return answer


if __name__ == "__main__":
    run_simple(
        "127.0.0.1",
        int(sys.argv[1]),
        google_storage,
        threaded=True,
        request_handler=MotoRequestHandler,
    )
