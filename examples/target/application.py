"""An application to try targets with: it knows two towers."""

YEARS = {"eiffel": 1889, "tokyo": 1958}


def answer(question: str) -> str:
    """What a function target is: it takes columns by their names and returns a text."""
    for name, year in YEARS.items():
        if name in question.lower():
            return f"It was finished in {year}."
    return "I do not know that tower."
