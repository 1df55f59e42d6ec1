"""Everything adjudge raises on purpose.

AdjudgeError
├── SetupError      before any call; a retry cannot help: bad criteria, missing field, unknown
                    model, template, missing extra
│   ├── KeyMissing      a provider's key, which only asking it takes
│   └── FetchNeeded     something that adjudge can fetch, such as weights
├── ModelError      a model could not be asked, or its provider failed
│   ├── RateLimited     429; ``retry_after`` seconds where the provider said so
│   ├── Unavailable     time-out, cut connection, 5xx: a retry may help
│   │   └── Unreachable     no connection could be made at all
│   ├── Refused         the provider declined this content
│   ├── ModelUnusable   its first requests show that it cannot work: wrong key, no credit, no such
│   model, no server
│   ├── ModelPaused     it failed too often in a row and is not asked for a while
│   └── BudgetSpent     the caller's own limit is reached
├── SandboxError    generated code did not come to its end in the sandbox
│   ├── Timeout         it used more wall-clock or CPU time than it was given
│   ├── MemoryLimit     it asked for more memory than it was given
│   ├── Forbidden       it tried what the sandbox does not allow: a file, the network, a process,
│   too much output
│   └── Crashed         it raised, ended early, or left an ``output`` that is not JSON
└── RunError        a data set, a ledger, or a judgment the caller wanted to be raised
    ├── RunStopped      the caller stopped the run
    │   └── BatchesOpen     it does not wait for the batches that it sent
    ├── WrongData       a column is missing, a file is in another format, a row is broken
    │   └── NothingToJudge      the data has no row, or none that can be judged
    ├── OtherConfiguration  the run in the folder was made with other settings
    └── NoValidCandidate    none of the generated candidates may be used

SetupError and WrongData are ValueErrors, too: what was given has to change. An unreadable reply is
not here: it is a failed vote.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from adjudge.messages import Message, join


class AdjudgeError(Exception):
    """The root: catch this to catch whatever adjudge raises on purpose.

    ``message`` is a template with placeholders for ``values``, or a finished message.
    """

    message: Message

    def __init__(self, message: str, /, **values: object) -> None:
        self.message = message if isinstance(message, Message) else Message(message, **values)
        super().__init__(self.message)

    def render(self, language: str) -> str:
        return self.message.render(language)


class SetupError(AdjudgeError, ValueError):
    """The question cannot be asked as it stands. Raised before any model is called."""


class KeyMissing(SetupError):
    """The environment variable for a provider's key is not set."""


class FetchNeeded(SetupError):
    """Something is missing that adjudge can fetch, e.g. a model's weights.

    ``fetcher``: the function that fetches it by name, as ``module:function``.
    """

    fetcher = ""
    name = ""


class ModelError(AdjudgeError):
    """A model did not answer. ``retryable`` says whether asking again can help."""

    retryable = False
    status: int | None = None
    """The HTTP status of the error, if there was one."""
    may_have_cost = False
    """True if the request was sent, and the model may have answered: a budget counts it."""
    is_too_large = False
    """True if the server says that the request has too many tokens or questions."""

    def __init__(
        self,
        message: str,
        /,
        *,
        provider: str = "",
        model: str = "",
        hint: str = "",
        **values: object,
    ) -> None:
        super().__init__(message, **values)
        self.provider = provider
        self.model = model
        self.hint = hint

    def __str__(self) -> str:
        return self.full_message

    def render(self, language: str) -> str:
        return self.full_message.render(language)

    @property
    def full_message(self) -> Message:
        """Return the model's name, the error and the hint as one message."""
        where = "/".join(part for part in (self.provider, self.model) if part)
        text = join(": ", (where, self.message)) if where else self.message
        return join("", (text, " (", self.hint, ")")) if self.hint else text


class RateLimited(ModelError):
    """The provider asked us to slow down."""

    retryable = True

    def __init__(
        self,
        message: str,
        /,
        *,
        provider: str = "",
        model: str = "",
        hint: str = "",
        retry_after: float | None = None,
        **values: object,
    ) -> None:
        super().__init__(message, provider=provider, model=model, hint=hint, **values)
        self.retry_after = retry_after


class Unavailable(ModelError):
    """Time-out, cut connection, server error or a body that is not a reply."""

    retryable = True


class Unreachable(Unavailable):
    """No connection to the server could be made."""


class PromptTooLong(ModelError):
    """The prompt has more tokens than the model reads."""


class ModelUnusable(ModelError):
    """The model's first requests show that it cannot work, so the run ends before sending the
    rest.
    """


NOT_ASKED = Message("not asked")
"""The beginning of the reason of a vote whose model was paused."""


class ModelPaused(ModelError):
    """The model failed many requests in a row and is paused. Nothing was sent."""


class Refused(ModelError):
    """The provider declined to answer about this content."""


class BudgetSpent(ModelError):
    """The caller's limit on calls, tokens or money is reached.

    ``results``: what was judged so far, by the instance's number from 0.
    """

    results: Mapping[int, object] = MappingProxyType({})


class SandboxError(AdjudgeError):
    """Generated code did not complete in the sandbox.

    ``stdout`` and ``stderr`` contain its output.
    """

    def __init__(
        self, message: str, /, *, stdout: str = "", stderr: str = "", **values: object
    ) -> None:
        super().__init__(message, **values)
        self.stdout = stdout
        self.stderr = stderr


class Timeout(SandboxError):
    """The code used more wall-clock or CPU time than it was given."""


class MemoryLimit(SandboxError):
    """The code asked for more memory than it was given."""


class Forbidden(SandboxError):
    """The code tried what the sandbox does not allow."""


class Crashed(SandboxError):
    """The code raised, ended early, or left an ``output`` that is not JSON."""


class RunError(AdjudgeError):
    """A data set or a ledger could not be read or written, or a judgment has no verdict and
    ``on_failure="raise"``.
    """


class WrongData(RunError, ValueError):
    """The data cannot be read as what they should be: a column is missing, a file is in another
    format, a row is broken.
    """


class NothingToJudge(WrongData):
    """The data has no row, or none that can be judged."""


class OtherConfiguration(RunError):
    """The run in a folder has other settings, so it cannot be resumed with these."""


class RunStopped(RunError):
    """The caller stopped the run before its end; what was answered is kept."""


class BatchesOpen(RunStopped):
    """Batches were sent and not awaited. Resume the run once they are answered."""


HALTS = (BudgetSpent, RunStopped, ModelUnusable)
"""Errors that end a run gently: nothing more is asked, and open requests are waited for."""


class NoValidCandidate(RunError):
    """Every candidate failed; the message lists why, and ``selection`` holds all of them."""

    def __init__(self, message: str, /, selection: object = None, **values: object) -> None:
        super().__init__(message, **values)
        self.selection = selection
