"""Servers that stand before models, or serve them: each with its own key, path and headers, and
complaints in its own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from support.protocols import Json, OpenAICompatible, Problem, Protocol


class _Gateway(OpenAICompatible):
    """An OpenAI-compatible server that knows its models and lets nobody in without a key."""

    served: ClassVar[tuple[str, ...]] = ()

    def unauthorised(self, headers: Mapping[str, str], keys: set[str]) -> Problem | None:
        return None if self.key(headers) in keys else self.no_entry()

    def no_entry(self) -> Problem:
        return Problem(401, "Unauthorized")

    def problems(self, query: Mapping[str, str], body: Json) -> Iterator[Problem]:
        if self.served and body.get("model") not in self.served:
            yield self.no_model(str(body.get("model")))
        yield from super().problems(query, body)

    def no_model(self, model: str) -> Problem:
        return Problem(404, f"The model `{model}` does not exist.")


class AzureDeployment(_Gateway):
    """Azure OpenAI by deployment: an ``api-key`` header, ``?api-version=``, and no list of models
    below the deployment.
    """

    name = "azure"
    prefix = "/openai/deployments/judge"
    lists_models = False

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("api-key", "")

    def no_entry(self) -> Problem:
        return Problem(401, "Access denied due to invalid subscription key or wrong API endpoint.")

    def problems(self, query: Mapping[str, str], body: Json) -> Iterator[Problem]:
        if not query.get("api-version"):
            yield Problem(404, "Resource not found")
        yield from super().problems(query, body)

    def error(self, status: int, message: str) -> Json:
        return {"error": {"code": str(status), "message": message}}


class AzureV1(_Gateway):
    """Azure OpenAI's newer interface: OpenAI's own paths, the key as bearer or in ``api-key``,
    deployments as models. Its list has the models that can be deployed, not the deployments.
    """

    name = "azure-v1"
    prefix = "/openai/v1"
    served = ("judge",)
    known = OpenAICompatible.known | {"max_completion_tokens"}

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("api-key", "") or super().key(headers)

    def listing(self, models: tuple[str, ...]) -> Json:
        return super().listing(("gpt-4o-mini", "gpt-4o"))

    def no_model(self, model: str) -> Problem:
        return Problem(404, "The API deployment for this resource does not exist.")


class Vllm(_Gateway):
    """vLLM, started with ``--api-key``."""

    name = "vllm"
    served = ("Qwen/Qwen2.5-7B-Instruct",)

    def error(self, status: int, message: str) -> Json:
        return (
            {"error": message}
            if status == 401
            else {"error": {"message": message, "type": "NotFoundError", "code": status}}
        )


class LiteLlm(_Gateway):
    """The LiteLLM proxy: virtual keys, and models of any provider under names of its own."""

    name = "litellm"
    served = ("team-judge", "claude-sonnet")

    def no_entry(self) -> Problem:
        return Problem(401, "Authentication Error, Invalid proxy server token passed.")

    def no_model(self, model: str) -> Problem:
        return Problem(
            400,
            f"/chat/completions: Invalid model name passed in model={model}. Call "
            "`/v1/models` to view available models",
        )

    def error(self, status: int, message: str) -> Json:
        return {
            "error": {
                "message": message,
                "type": "auth_error",
                "param": "None",
                "code": str(status),
            }
        }


class OpenRouter(_Gateway):
    """OpenRouter: who asks may be told in ``HTTP-Referer`` and ``X-Title``."""

    name = "openrouter"
    prefix = "/api/v1"
    served = ("meta-llama/llama-3.3-70b-instruct",)

    def no_entry(self) -> Problem:
        return Problem(401, "No auth credentials found")

    def no_model(self, model: str) -> Problem:
        return Problem(400, f"{model} is not a valid model ID")

    def error(self, status: int, message: str) -> Json:
        return {"error": {"message": message, "code": status}}


class Company(_Gateway):
    """A company's own: its key in a header of its own, and the team that pays in another."""

    name = "company"
    prefix = "/llm/v1"
    served = ("gpt-4o-mini", "gpt-4o")
    known = OpenAICompatible.known | {"max_completion_tokens"}

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("X-Gateway-Key", "")

    def unauthorised(self, headers: Mapping[str, str], keys: set[str]) -> Problem | None:
        if "X-Team" not in headers:
            return Problem(403, "X-Team is missing")
        return super().unauthorised(headers, keys)


GATEWAYS: dict[str, Protocol] = {
    one.name: one
    for one in (AzureDeployment(), AzureV1(), Vllm(), LiteLlm(), OpenRouter(), Company())
}
