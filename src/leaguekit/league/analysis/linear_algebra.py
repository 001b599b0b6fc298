"""Linear algebra for ratings and significance tests: symmetric positive definite matrices of at most some hundred rows.

In plain Python 200 rows take a twentieth of a second. That does not justify a dependency. Long computations call
``check`` before each row; it raises an exception to cancel the computation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from operator import mul

Matrix = list[list[float]]
CancelCheck = Callable[[], None]


def never_cancel() -> None:
    """The default ``check``: the computation is not cancelled."""


def cholesky(matrix: Sequence[Sequence[float]], check: CancelCheck = never_cancel) -> Matrix:
    """The lower triangular matrix whose product with its transpose is the matrix. Row i has i + 1 numbers."""
    rows: Matrix = []
    for number, values in enumerate(matrix):
        check()
        row: list[float] = []
        for column in range(number):
            above = rows[column]
            # The sum ends with the shorter of the two rows.
            row.append((values[column] - sum(map(mul, row, above))) / above[column])
        row.append(sqrt(values[number] - sum(map(mul, row, row))))
        rows.append(row)
    return rows


def solve(triangle: Matrix, right: Sequence[float]) -> list[float]:
    """Solve a system of equations. ``triangle`` is the Cholesky factor of its matrix, ``right`` its right side."""
    found: list[float] = []
    for row, value in zip(triangle, right, strict=True):
        found.append((value - sum(map(mul, row, found))) / row[-1])
    for number in range(len(found) - 1, -1, -1):
        row = triangle[number]
        found[number] /= row[-1]
        for column in range(number):
            found[column] -= row[column] * found[number]
    return found


def inverse(triangle: Matrix, check: CancelCheck = never_cancel) -> Matrix:
    """The inverse of a matrix, from its Cholesky factor. Each row ends at the diagonal."""
    size = len(triangle)
    # Column j of the inverse of the factor, from row j on.
    columns: Matrix = []
    for first in range(size):
        check()
        column = [1 / triangle[first][first]]
        for row in triangle[first + 1 :]:
            column.append(-sum(map(mul, row[first:], column)) / row[-1])
        columns.append(column)
    rows: Matrix = []
    for number in range(size):
        check()
        rows.append(
            [sum(map(mul, columns[number], columns[column][number - column :])) for column in range(number + 1)]
        )
    return rows
