"""Names of OpenTelemetry's conventions for generative AI, which are still in development.

From open-telemetry/semantic-conventions-genai at 002c8a6 (docs/gen-ai/gen-ai-events.md and
gen-ai-spans.md). ``adjudge.*`` are our own.
"""

from __future__ import annotations

EVENT = "gen_ai.evaluation.result"
EVALUATION_NAME = "gen_ai.evaluation.name"
SCORE_VALUE = "gen_ai.evaluation.score.value"
SCORE_LABEL = "gen_ai.evaluation.score.label"
EXPLANATION = "gen_ai.evaluation.explanation"
RESPONSE_ID = "gen_ai.response.id"
ERROR_TYPE = "error.type"

OPERATION = "gen_ai.operation.name"
CHAT = "chat"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_SEED = "gen_ai.request.seed"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"

STATUS = "adjudge.status"
AGREEMENT = "adjudge.agreement"
VOTES_VALID = "adjudge.votes_valid"
VOTES_REQUESTED = "adjudge.votes_requested"
RUN = "adjudge.run"
LOCK = "adjudge.lock"
CRITERIA_HASH = "adjudge.criteria.hash"
ROW = "adjudge.row"

CAPTURE_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that puts prompts and replies into spans."""

PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "watsonx": "ibm.watsonx.ai",
}
"""adjudge's provider → the convention's name, if it differs."""
