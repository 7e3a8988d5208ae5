"""What a config is, and the two functions of sizes that generated modules have as well."""

from collections.abc import Mapping

Config = Mapping[str, int]
"""Tile sizes in upper case, compiler options in lower case: ``{"TILE": 4096, "num_warps": 8}``."""


def cdiv(numerator: int, denominator: int) -> int:
    """The quotient rounded up."""
    return -(-numerator // denominator)


def next_power_of_2(n: int) -> int:
    """The least power of two that is at least `n`, and 1 for 0."""
    return 1 << max(0, n - 1).bit_length()
