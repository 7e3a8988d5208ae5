"""Products in an eager reference: as `x @ w.mT` where dimensions allow it, else by einsum."""

from collections.abc import Callable, Iterable
from string import ascii_lowercase, ascii_uppercase

from tilegen.ir.graph import Node
from tilegen.ir.ops import CALL, MULTIPLY

Text = Callable[[Node, int], str]
"""Prints a node so that it binds at least as tightly as a level."""


def product(node: Node, text: Text) -> tuple[str, int]:
    """The text of a product, and how tightly it binds."""
    whole = node.dtype.kind == "int"
    for a, b in (node.args, node.args[::-1]):
        sides = _sides(node, a, b)
        if sides is not None:
            left, right = (_factor(*side, text, whole) for side in zip((a, b), sides, strict=True))
            found = f"{left} @ {right}"
            return (f"({found}).int()", CALL) if whole else (found, MULTIPLY)
    letters = _letters(dim for arg in node.args for dim in arg.dims)
    form = ",".join("".join(letters[dim] for dim in arg.dims) for arg in node.args)
    form += "->" + "".join(letters[dim] for dim in node.dims)
    factors = ", ".join(_factor(arg, "", text, whole, 0) for arg in node.args)
    return f'torch.einsum("{form}", {factors})' + ".int()" * whole, CALL


def _factor(node: Node, transposed: str, text: Text, whole: bool, level: int = MULTIPLY + 1) -> str:
    """An operand; integers in fp64, which holds their sums and which every device multiplies."""
    calls = ".double()" * whole + transposed
    return text(node, CALL if calls else level) + calls


def _sides(node: Node, a: Node, b: Node) -> tuple[str, str] | None:
    """What to append to each operand for `a @ b` to be the product; None if it cannot be.

    Leading axes broadcast from the right, as those of torch.matmul do.
    """
    if len(node.attrs["over"]) > 1:
        return None
    (over,) = node.attrs["over"]
    for turned, a_dims in _turns(a.dims):
        for other, b_dims in _turns(b.dims):
            if a_dims[-1] != over or b_dims[-2:][0] != over:
                continue
            rows, columns = a_dims[-2:-1], b_dims[-1:] if len(b_dims) > 1 else ()
            leading = max(a_dims[:-2], b_dims[:-2], key=len)
            shared = all(leading[len(leading) - len(d[:-2]) :] == d[:-2] for d in (a_dims, b_dims))
            if shared and node.dims == (*leading, *rows, *columns):
                return turned, other
    return None


def _turns(dims: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """A value as it is, and with its last two axes swapped."""
    turned = [(".mT", (*dims[:-2], dims[-1], dims[-2]))] if len(dims) > 1 else []
    return [("", dims), *turned]


def _letters(dims: Iterable[str]) -> dict[str, str]:
    """A letter for each dimension: its own where that is free."""
    found: dict[str, str] = {}
    for dim in dict.fromkeys(dims):
        wishes = dim.lower() + ascii_lowercase + ascii_uppercase
        free = (c for c in wishes if c in ascii_lowercase + ascii_uppercase)
        found[dim] = next(letter for letter in free if letter not in found.values())
    return found
