"""Small systems of linear equations."""

from __future__ import annotations

from collections.abc import Sequence

from adjudge.messages import Message


def solve(matrix: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    """Solve ``matrix`` x = ``values`` by Gaussian elimination with pivoting.

    Raises a ValueError without a unique solution.
    """
    rows = [[*row, value] for row, value in zip(matrix, values, strict=True)]
    size = len(rows)
    for column in range(size):
        # The largest pivot keeps rounding errors small.
        pivot = max(range(column, size), key=lambda at: abs(rows[at][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        if abs(rows[column][column]) < 1e-14:
            raise ValueError(Message("the equations do not have one solution"))
        for at in range(column + 1, size):
            factor = rows[at][column] / rows[column][column]
            rows[at] = [
                value - factor * above for value, above in zip(rows[at], rows[column], strict=True)
            ]
    solution = [0.0] * size
    for at in reversed(range(size)):
        solution[at] = (
            rows[at][size] - sum(rows[at][k] * solution[k] for k in range(at + 1, size))
        ) / rows[at][at]
    return solution
