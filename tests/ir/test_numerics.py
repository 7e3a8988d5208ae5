"""Rewrites that change a rounding change nothing else: in fp64 they agree with the graph they had."""

from collections.abc import Callable, Mapping

import pytest
import torch

from tilegen import M, N, Tensor, Value, exp, log, max, mean, rowwise, rsqrt, sum, variance
from tilegen.ir import numerics
from tilegen.ir.graph import Graph, Node
from tilegen.ir.ops import TABLE
from tilegen.ir.passes import simplify
from tilegen.ir.verify import verify
from tilegen.spec.source import SpecSource
from tilegen.spec.trace import trace

ROWS, COLUMNS = 6, 1000


@rowwise
def log_softmax(x: Tensor[M, N]) -> Value:
    shifted = x - max(x)
    return shifted - log(sum(exp(shifted)))


@rowwise
def normalised(x: Tensor[M, N], eps: float = 1e-5) -> Value:
    return (x - mean(x)) * rsqrt(variance(x) + eps)


@rowwise
def sample_spread(x: Tensor[M, N]) -> tuple[Value, Value]:
    centred = x - mean(x)
    spread = variance(x, correction=1)
    return centred, spread


@rowwise
def shares(x: Tensor[M, N]) -> Value:
    weights = exp(x - max(x))
    return weights / sum(weights)


def graph_of(spec: Callable[..., object]) -> Graph:
    return simplify(trace(spec, SpecSource.of(spec.fn)).variants[0].graph)


def evaluate(graph: Graph, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The outputs in the type of x, each op by that of PyTorch; values keep all axes."""
    done: dict[Node, torch.Tensor] = {}
    for node in graph.nodes:
        done[node] = _value(node, [done.get(arg) for arg in node.args], done, x)
    return tuple(done[output.value] for output in graph.outputs)


def _value(
    node: Node, args: list[torch.Tensor], done: Mapping[Node, torch.Tensor], x: torch.Tensor
) -> torch.Tensor:
    sizes = {"M": x.shape[0], "N": x.shape[1]}
    if node.op == "load":
        return x
    if node.op in ("const", "param", "size", "index"):
        value = sizes[node.attrs["dim"]] if node.op == "size" else node.attrs.get("value", 1e-5)
        return torch.tensor(value)
    if node.op == "cast":
        return args[0].to(x.dtype)
    if node.op == "state":
        return _states(node.args[0], done[node.args[0].args[0]])[node.attrs["position"]]
    if node.op == "reduce":
        return _reduced(node, args[0])
    names = {"where": torch.where, "maximum": torch.maximum}
    typed = [arg.to(x.dtype) if arg.dtype.is_floating_point else arg for arg in args]
    return eval(
        TABLE[node.op].torch.format(*(f"v[{at}]" for at in range(len(args)))),
        {"torch": torch, "v": typed, **names},
    )


def _states(node: Node, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if node.attrs["monoid"] == "deviations":
        return x.sum(1, keepdim=True), (x * x).sum(1, keepdim=True)
    if node.attrs["monoid"] == "variance":
        average = x.mean(1, keepdim=True)
        return average, (x - average).square().sum(1, keepdim=True)
    top = x.amax(1, keepdim=True)
    return top, (x - top).exp().sum(1, keepdim=True)


def _reduced(node: Node, x: torch.Tensor) -> torch.Tensor:
    monoid = node.attrs["monoid"]
    if monoid == "variance":
        return x.var(1, keepdim=True, correction=node.attrs["correction"])
    if monoid == "logsumexp":
        return x.logsumexp(1, keepdim=True)
    if monoid == "deviations":
        return torch.empty(0)  # only its states are used
    return {"sum": x.sum, "mean": x.mean, "max": x.amax}[monoid](1, keepdim=True)


def rows(dtype: torch.dtype) -> torch.Tensor:
    """Normal ones, a large offset, a constant one, one huge entry, sorted ones, a wide range."""
    x = torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(0), dtype=dtype)
    x[1] += 1000
    x[2] = 0.1
    x[3, 7] = 1e4
    x[4] = x[4].sort().values
    x[5] *= 30
    return x


CASES = [
    ("recognise_logsumexp", log_softmax),
    ("recognise_logsumexp", shares),
    ("share_moments", normalised),
    ("multiply_by_reciprocals", shares),
    ("two_passes", normalised),
    ("two_passes", sample_spread),
]


@pytest.mark.parametrize(("name", "spec"), CASES, ids=lambda item: getattr(item, "__name__", item))
def test_the_rewritten_graph_agrees_in_fp64(name: str, spec: Callable[..., object]) -> None:
    (step,) = (step for step in numerics.REWRITES if step.name == name)
    graph = graph_of(spec)
    if name == "two_passes":  # of a graph that shares the mean
        graph = numerics.share_moments(graph)
    changed = step.apply(graph)
    verify(changed)
    assert ops(changed) != ops(graph), "the rewrite does nothing here"
    x = rows(torch.float64)
    for before, after in zip(evaluate(graph, x), evaluate(changed, x), strict=True):
        assert torch.allclose(before, after, rtol=1e-12, atol=1e-10)


def ops(graph: Graph) -> list[tuple[str, str]]:
    return [(node.op, node.attrs.get("monoid", "")) for node in graph.nodes]


def test_every_rewrite_has_a_test_a_condition_and_a_reason() -> None:
    assert {step.name for step in numerics.REWRITES} == {name for name, _ in CASES}
    assert all(step.condition and step.reason for step in numerics.REWRITES)


def test_two_passes_are_left_to_the_schedules() -> None:
    improved = numerics.improve(graph_of(normalised))
    assert ("reduce", "variance") in ops(improved)
    assert ("reduce", "deviations") in ops(numerics.in_registers(improved))


def test_the_correction_makes_constant_rows_exact() -> None:
    x = torch.tensor([0.1, -1234.567, 1e-3, 2 / 3])[:, None].expand(4, COLUMNS)
    graph = numerics.two_passes(numerics.share_moments(graph_of(sample_spread)))
    assert bool((x.mean(1) != x[:, 0]).any())
    centred, spread = evaluate(graph, x)
    assert centred.unique().tolist() == [0.0]
    assert bool((spread >= 0).all())
    assert bool((spread <= (1e-7 * x[:, :1]) ** 2).all())


def test_the_correction_keeps_rows_with_an_offset() -> None:
    graph = numerics.two_passes(numerics.share_moments(graph_of(normalised)))
    x = rows(torch.float32)[1:2]
    (got,), (exact,) = evaluate(graph, x), evaluate(graph_of(normalised), x.double())
    assert float((got - exact).abs().max()) < 4e-5  # a mean of 1000 rounds by up to 3.1e-5
