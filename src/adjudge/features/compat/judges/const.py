"""Settings for ``open_model``, under the path where users of EvalAssist look for them."""

from typing import TypedDict


class InferenceParams(TypedDict):
    """What ``open_model(…, **params)`` takes."""

    temperature: float
    seed: int


DEFAULT_JUDGE_INFERENCE_PARAMS: InferenceParams = {"temperature": 0.0, "seed": 42}
