"""Specs that a user may write and that once crashed, or gave wrong numbers."""

from typing import Literal

from tilegen import (
    A,
    B,
    C,
    D,
    Dim,
    Flat,
    H,
    Index,
    K,
    M,
    Mask,
    N,
    One,
    Out,
    S,
    Tensor,
    Two,
    Value,
    W,
    all,
    any,
    argmax,
    cast,
    elementwise,
    exp,
    i32,
    index,
    logsumexp,
    max,
    mean,
    min,
    rowwise,
    size,
    softmax,
    stack,
    sum,
    take,
    u8,
    unstack,
    variance,
    where,
)


class Three(Dim, size=3):
    """A triple."""


@elementwise
def first_and_last(x: Tensor[M, N]) -> tuple[Value, Value]:
    """Constant positions, one of them out of range."""
    first = take(x, 0, M)
    none = take(x, -1, M)
    return first, none


@elementwise
def token_shift(x: Tensor[B, S, N]) -> Value:
    """A gather along an outer dimension that the result has again."""
    return x - take(x, index(S) - 1, S)


@rowwise
def all_and_spread(x: Tensor[M, A, B]) -> tuple[Value, Value]:
    """States of two reductions in one sweep."""
    good = all(x > -1.0, (A, B))
    spread = variance(x, (A, B), correction=1)
    return good, spread


@elementwise
def rotate_three(x: Tensor[N, Three]) -> Value:
    """Components whose names are those of strides."""
    a, b, c = unstack(x, Three)
    return stack(b * c, c - a, a + b, dim=Three)


@elementwise(dtypes={"packed": u8})
def unpack(packed: Index[M, D], scale: Tensor[M]) -> Out[M, Flat[D, Two]]:
    """Two signed numbers of four bits a byte; no tensor has the pair as a dimension."""
    low = (packed & 15) - 8
    high = (packed >> 4) - 8
    return stack(low, high, dim=Two) * scale


@rowwise
def extremes(i: Index[M, N]) -> tuple[Value, Value, Value]:
    """Integers of any width."""
    top = max(i)
    low = min(i)
    six = cast(max(i) * 6, i32)
    return top, low, six


@rowwise
def first_true(p: Mask[M, N]) -> Value:
    """The first place of the largest boolean."""
    return argmax(p)


@elementwise
def parts(x: Tensor[M, N], p: Mask[N]) -> tuple[Value, Value]:
    """A result that lacks a dimension, which may be empty."""
    y = x * 2
    kind = where(p, 1, 2)
    return y, kind


@elementwise
def mixed_stack(x: Tensor[M, N], i: Index[N]) -> Out[Two, M, N]:
    """An integer beside a real."""
    return stack(i, x, dim=Two)


@elementwise
def remainder(i: Index[N]) -> Value:
    """Integers that no float holds."""
    return (i + 3000000000) % 7


@elementwise
def increment(x: Tensor[()], i: Index[()]) -> tuple[Value, Value]:
    """Scalars alone."""
    a = x * 2
    b = i + 1
    return a, b


@elementwise
def four_groups(x: Tensor[A, B, C, D], b: Tensor[B, D], c: Tensor[C]) -> Out[D, A, C, B]:
    """More groups of dimensions than a tile has axes."""
    return x * c + b


@elementwise
def alike(x: Tensor[N], mode: Literal["a-b", "a_b"] = "a_b") -> Value:
    """Choices whose names read alike."""
    return x * 2 if mode == "a-b" else x + 1


@elementwise
def named(x: Tensor[M, N], b: Tensor[N], n: float = 2.0, x_ptr: float = 3.0) -> Value:
    """Parameters named as a kernel's own variables."""
    return x * n + b * x_ptr


@rowwise
def named_rows(x: Tensor[M, N], rows: float = 2.0, start: int = 3) -> Value:
    """Parameters named as a kernel's own variables."""
    held = x - mean(x) * rows
    x_rows = held * start
    return x_rows - sum(held)


@rowwise
def one_column(x: Tensor[M, N], k: int = 1) -> tuple[Value, Value]:
    """A position that comes at run time, in and out of range."""
    y = x - mean(x)
    at = take(x, k, N)
    return y, at


@rowwise
def both_ways(x: Tensor[M, N]) -> tuple[Value, Value, Value]:
    """Row sums, column maxima, and the matrix less both."""
    total = sum(x, over=N)
    top = max(x, over=M)
    y = x - total - top
    return total, top, y


@rowwise
def sinkhorn(x: Tensor[M, N]) -> Value:
    """Normalise rows, then columns."""
    y = x - logsumexp(x, over=N)
    z = y - logsumexp(y, over=M)
    return exp(z)


@rowwise
def last_best(x: Tensor[M, N]) -> tuple[Value, Value]:
    """How often the best column is the last, and whether any row is all negative."""
    best = argmax(x, over=N)
    hits = sum(where(best == size(N) - 1, 1, 0), over=M)
    low = any(all(x < 0, over=N), over=M)
    return hits, low


@rowwise
def outer(x: Tensor[M, N], b: Tensor[K]) -> Value:
    """Row sums times another vector: reduced once, not for each k."""
    return sum(x) * b


@rowwise
def three_biases(x: Tensor[B, C, H, W], a: Tensor[C], b: Tensor[H], c: Tensor[W]) -> Value:
    """A softmax over three dimensions that no two tensors share."""
    return softmax(x + a * b + c, over=(C, H, W))


@elementwise
def six_vectors(
    x: Tensor[A, B, C, D, H, W], a: Tensor[A], b: Tensor[B], c: Tensor[C], d: Tensor[D],
    h: Tensor[H], w: Tensor[W],
) -> Value:  # fmt: skip
    """More broadcast vectors than a tile has axes."""
    return x + a * b + c * d + h * w


@rowwise
def looked_up(x: Tensor[M, N], at: Index[M, N], table: Tensor[C]) -> tuple[Value, Value]:
    """Gathers whose positions are loaded too, after a reduction."""
    share = (x - mean(x)) * take(table, at, C)
    code = at * 2 - 1
    return share, code


@rowwise
def next_of(x: Tensor[M, N]) -> tuple[Value, Value]:
    """A local that has the name of a block loaded ahead."""
    next_x = x * 2.0
    both = logsumexp(next_x) + logsumexp(x)
    rest = next_x - both
    return both, rest


@rowwise
def partial_of(x: Tensor[M, N], partial_total: Tensor[N], partial_row: Tensor[M]) -> Value:
    """Operands that have the names of partial states."""
    total = sum(x * partial_total)
    return x * partial_row - total


@elementwise
def pairs_of(x: Tensor[M, N, Two], d: Tensor[M, N]) -> Out[M, N, Two]:
    """A local that has the name of a position along pairs."""
    a, b = unstack(x, Two)
    d_pairs = a * d
    n_pairs = b * d
    return stack(n_pairs - d_pairs, d_pairs + n_pairs, dim=Two)


@rowwise
def balance(x: Tensor[M, N]) -> Value:
    """The mean of a softmax over the other dimension."""
    return mean(softmax(x, N), M)


@rowwise
def kept_dims(x: Tensor[M, N]) -> tuple[Out[M, One], Out[N]]:
    """A statistic that is stored with a dimension of size 1, and used by the next stage."""
    a = sum(x, N)
    b = max(x - a, M)
    return a, b


@rowwise
def overwritten(x: Tensor[M, N], w: Tensor[M, N]) -> tuple[Value, Value]:
    """A result that is an operand, which the other result may overwrite."""
    y = x - mean(x)
    z = w
    return y, z
