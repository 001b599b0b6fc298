"""As much linear algebra as the figures need: symmetric positive definite matrices, a few hundred rows at most.

In plain Python 200 rows take a twentieth of a second; that is not worth a dependency. ``check`` is called before each
row. What it raises ends the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from operator import mul

Matrix = list[list[float]]
Check = Callable[[], None]


def unchecked() -> None:
    """For work that nothing ends early."""


def cholesky(matrix: Sequence[Sequence[float]], check: Check = unchecked) -> Matrix:
    """The lower triangle whose product with its transpose is the matrix; row i has i + 1 numbers."""
    rows: Matrix = []
    for number, line in enumerate(matrix):
        check()
        row: list[float] = []
        for column in range(number):
            above = rows[column]
            # The shorter of the two ends the sum.
            row.append((line[column] - sum(map(mul, row, above))) / above[column])
        row.append(sqrt(line[number] - sum(map(mul, row, row))))
        rows.append(row)
    return rows


def solve(triangle: Matrix, right: Sequence[float]) -> list[float]:
    """The solution of the system that a matrix, given by its triangle, makes with a right side."""
    found: list[float] = []
    for row, value in zip(triangle, right, strict=True):
        found.append((value - sum(map(mul, row, found))) / row[-1])
    for number in range(len(found) - 1, -1, -1):
        row = triangle[number]
        found[number] /= row[-1]
        for column in range(number):
            found[column] -= row[column] * found[number]
    return found


def inverse(triangle: Matrix, check: Check = unchecked) -> Matrix:
    """The inverse of a matrix that is given by its triangle: its rows as far as the diagonal."""
    size = len(triangle)
    # Column j of the triangle's own inverse, from row j on.
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
