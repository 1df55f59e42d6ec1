"""Names of OpenTelemetry's conventions for generative AI, which are still in development.

From open-telemetry/semantic-conventions-genai at 002c8a6 (docs/gen-ai/gen-ai-events.md and
gen-ai-spans.md). ``adjudge.*`` are our own.
"""

from __future__ import annotations

from typing import Final

EVENT: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
SCORE_VALUE: Final = "gen_ai.evaluation.score.value"
SCORE_LABEL: Final = "gen_ai.evaluation.score.label"
EXPLANATION: Final = "gen_ai.evaluation.explanation"
RESPONSE_ID: Final = "gen_ai.response.id"
ERROR_TYPE: Final = "error.type"

OPERATION: Final = "gen_ai.operation.name"
CHAT: Final = "chat"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_SEED: Final = "gen_ai.request.seed"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"

STATUS: Final = "adjudge.status"
AGREEMENT: Final = "adjudge.agreement"
VOTES_VALID: Final = "adjudge.votes_valid"
VOTES_REQUESTED: Final = "adjudge.votes_requested"
RUN: Final = "adjudge.run"
LOCK: Final = "adjudge.lock"
CRITERIA_HASH: Final = "adjudge.criteria.hash"
ROW: Final = "adjudge.row"

CAPTURE_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that puts prompts and replies into spans."""

PROVIDERS: Final = {
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "watsonx": "ibm.watsonx.ai",
}
"""Our provider → the convention's name, where that is another."""
