"""Numbers and names as each language writes them."""

from __future__ import annotations


class RussianNumber(float):
    """A number that is written with a decimal comma."""

    def __format__(self, spec: str) -> str:
        return super().__format__(spec).replace(".", ",")


def quoted_name(name: str, language: str) -> str:
    """A name of ours in the quotation marks of the language."""
    return f"«{name}»" if language == "ru" else f"“{name}”"


def percent(share: float, language: str) -> str:
    """A share in percent: 67%, or 67 % in Russian."""
    return f"{100 * share:.0f}\u00a0%" if language == "ru" else f"{share:.0%}"


def number_text(value: float, digits: int, language: str) -> str:
    """A number with so many decimals: 0.50, or 0,50 in Russian."""
    return f"{RussianNumber(value) if language == 'ru' else value:.{digits}f}"
