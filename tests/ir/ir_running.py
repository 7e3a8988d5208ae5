"""Graphs run through their eager references, in fp64 and on small sizes."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from generated import _runtime
from tilegen.ir import types
from tilegen.ir.graph import Graph, Node, Operand, Param
from tilegen.ir.ops import TABLE
from tilegen.render.eager import reference

SIZES = {"M": 3, "N": 7, "V": 7, "S": 4, "B": 2, "H": 2, "P": 5, "D": 3, "Two": 2, "G": 2, "C": 3}
SIZES |= {"K": 6, "R": 3, "T": 5, "E": 2}


def sizes_of(graph: Graph) -> dict[str, int]:
    """A size for each dimension of a graph."""
    sizes = {**dict.fromkeys(graph.dims, 4), **SIZES}
    return sizes | {d.name: d.size for d in graph.dims.values() if d.size is not None}


def function(graph: Graph, params: tuple[Param, ...]) -> Callable[..., Any]:
    """The reference of a graph as a Python function of its operands and parameters."""
    body = reference(graph, params, lambda span: "")
    names = ", ".join([*(o.name for o in graph.operands), *(p.name for p in params), "compute"])
    lines = [f"    {line.target} = {line.value}" for line in body.lines]
    text = "\n".join([f"def run({names}):", *lines, f"    return ({', '.join(body.results)},)"])
    scope = {**vars(_runtime), "torch": torch}
    exec(text, scope)
    run: Callable[..., Any] = scope["run"]
    return run


def drawn(operand: Operand, sizes: Mapping[str, int], seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    shape = [math.prod(sizes[dim] for dim in group) for group in operand.stored]
    kind = types.computed(operand.dtype).kind
    if kind == "int":
        return torch.randint(0, 5, shape, generator=generator)
    if kind == "bool":
        return torch.rand(shape, generator=generator) < 0.5
    # A grid of few values: many ties.
    values = torch.randint(-4, 5, shape, generator=generator, dtype=torch.float64) / 2
    tied = values + (operand.name in ("p", "log_q")) * 3.0
    return tied.requires_grad_()


def value_of(param: Param) -> Any:
    if param.kind == "size":
        return SIZES[param.dim]
    return param.default if param.default is not None else 0.7


def evaluate(graph: Graph, given: Mapping[str, torch.Tensor], numbers: Mapping[str, float]) -> Any:
    """The outputs of a graph after passes, op by op; values have an axis for each dimension."""
    sizes = sizes_of(graph)
    axes = {dim: at for at, dim in enumerate(graph.dims)}
    done: dict[Node, torch.Tensor] = {}
    for node in graph.nodes:
        done[node] = _value(node, [done[arg] for arg in node.args], axes, sizes, given, numbers)
    found = []
    for output in graph.outputs:
        whole = done[output.value].expand([sizes[d] if d in output.dims else 1 for d in axes])
        order = [axes[dim] for dim in output.dims]
        rest = [at for at in axes.values() if at not in order]
        shape = [math.prod(sizes[dim] for dim in group) for group in output.stored]
        found.append(whole.permute(*rest, *order).reshape(shape))
    return tuple(found)


def _value(
    node: Node, args: list[torch.Tensor], axes: Mapping[str, int], sizes: Mapping[str, int],
    given: Mapping[str, torch.Tensor], numbers: Mapping[str, float],
) -> torch.Tensor:  # fmt: skip
    attrs = node.attrs
    over = [axes[dim] for dim in attrs.get("over", ())]
    if node.op in ("const", "param", "size"):
        value = {"const": "value", "param": "param", "size": "dim"}[node.op]
        number = attrs[value] if node.op == "const" else {**numbers, **sizes}[attrs[value]]
        return torch.tensor(number).reshape([1] * len(axes))
    if node.op == "index":
        (dim,) = node.dims
        shape = [-1 if name == dim else 1 for name in axes]
        return torch.arange(sizes[dim]).reshape(shape)
    if node.op == "load":
        tensor = given[attrs["tensor"]].detach().reshape([sizes[dim] for dim in attrs["dims"]])
        places = zip(args, attrs["dims"], strict=False)
        read = tensor[tuple(place.clamp(0, sizes[dim] - 1) for place, dim in places)]
        return torch.where(args[-1], read, 0) if attrs.get("guarded") else read
    if node.op == "contract":
        return (args[0] * args[1]).sum(over, keepdim=True)
    if node.op == "reduce":
        plain = {"sum": "sum", "mean": "mean", "max": "amax"}
        reduced: torch.Tensor = getattr(args[0], plain[attrs["monoid"]])(over, keepdim=True)
        return reduced
    if node.op == "stack":
        return torch.cat(torch.broadcast_tensors(*args), axes[attrs["dim"]])  # type: ignore[no-untyped-call]
    if node.op in ("cast", "narrow", "expand"):
        return args[0].double() if node.dtype.kind == "float" else args[0]
    text = TABLE[node.op].torch.format(*(f"v[{at}]" for at in range(len(args))))
    result: torch.Tensor = eval(text, {**vars(torch), "torch": torch, "v": args})
    return result
