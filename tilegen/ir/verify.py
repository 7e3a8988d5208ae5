"""The verifier: every node against its rule, and the graph as a whole."""

from collections.abc import Iterator

from tilegen import errors
from tilegen.ir.graph import Graph, Node, Output, Region, references, walk
from tilegen.ir.regions import free_parameters
from tilegen.ir.rule import Rule
from tilegen.ir.rules import EVERYWHERE, RULES


def verify(graph: Graph) -> None:
    """Check a graph.

    Raises:
        InvalidGraph: it breaks a rule; all violations are listed.
    """
    cycle = _cycle(graph)
    found = [*_declarations(graph)]
    if cycle is not None:
        found.append(f"{describe(cycle)}: it is made of itself")
    else:
        order = walk(tuple(output.value for output in graph.outputs))
        for node in order:
            found += (f"{describe(node)}: {text}" for text in _violations(node, graph))
        for output in graph.outputs:
            found += (f"output {output.name}: {text}" for text in _stored(output, graph))
        found += _scopes(graph, order)
    if found:
        lines = "\n".join(f"  {text}" for text in found)
        raise errors.InvalidGraph(f"the graph of {graph.name} breaks {len(found)} rules:\n{lines}")


def describe(node: Node) -> str:
    """A node in a message: op, name, dimensions, place."""
    name = f" {node.name}" if node.name else ""
    place = f" ({node.span.file}:{node.span.line})" if node.span else ""
    return f"{node.op}{name}[{', '.join(node.dims)}]{place}"


def _violations(node: Node, graph: Graph) -> Iterator[str]:
    rule = RULES.get(node.op)
    if rule is None:
        yield "there is no such op"
        return
    shape = [*_shape(node, rule)]
    if shape:
        yield from shape
        return
    for premise in rule.premises:
        if not premise.holds(node, graph):
            yield premise.says
            return
    yield from (check.says for check in (*EVERYWHERE, *rule.checks) if not check.holds(node, graph))
    wanted = set(rule.dims(node, graph))
    if set(node.dims) != wanted:
        yield f"its dims must be [{', '.join(sorted(wanted))}]"
    dtype = rule.dtype(node, graph)
    if node.dtype != dtype:
        yield f"its type must be {dtype}, not {node.dtype}"


def _shape(node: Node, rule: Rule) -> Iterator[str]:
    """Whether it has the arguments and attributes that its rule speaks of."""
    if rule.arity is not None and len(node.args) != rule.arity:
        yield f"it has {len(node.args)} arguments, not {rule.arity}"
    for name, kind in rule.attrs.items():
        if not isinstance(node.attrs.get(name), kind):
            yield f"its attribute {name} is missing or of the wrong type"


def _cycle(graph: Graph) -> Node | None:
    """A node that is made of itself, through arguments or regions."""
    done: set[Node] = set()
    path: set[Node] = set()
    stack = [(output.value, False) for output in graph.outputs]
    while stack:
        node, left = stack.pop()
        if left:
            path.discard(node)
            done.add(node)
        elif node in path:
            return node
        elif node not in done:
            path.add(node)
            stack.append((node, True))
            stack.extend((used, False) for used in references(node))
    return None


def _declarations(graph: Graph) -> Iterator[str]:
    for name, info in graph.dims.items():
        if info.name != name:
            yield f"dim {name}: it is declared as {info.name}"
    names = [*(item.name for item in graph.operands), *(item.name for item in graph.params)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"parameter {name}: two parameters have this name"
    for operand in graph.operands:
        if not set(operand.dims) <= set(graph.dims):
            yield f"operand {operand.name}: the graph lacks one of its dims"
        if len(set(operand.dims)) != len(operand.dims):
            yield f"operand {operand.name}: it has a dim twice"
    for param in graph.params:
        if param.kind == "size" and param.dim not in graph.dims:
            yield f"parameter {param.name}: it is the size of a dim that the graph lacks"
    outputs = [output.name for output in graph.outputs]
    for name in sorted({name for name in outputs if outputs.count(name) > 1}):
        yield f"output {name}: two outputs have this name"


def _stored(output: Output, graph: Graph) -> Iterator[str]:
    if sorted(output.dims) != sorted(name for name in output.value.dims if name != "One"):
        yield f"it stores [{', '.join(output.dims)}], its value is {describe(output.value)}"
    if output.dtype.kind != output.value.dtype.kind:
        yield f"it stores {output.dtype}, its value is {output.value.dtype}"
    if output.dtype.like and output.dtype.like not in {item.name for item in graph.operands}:
        yield f"it stores the type of {output.dtype.like}, which is no operand"
    if output.value.op == "loop":
        yield "its value is a whole loop"


def _scopes(graph: Graph, order: tuple[Node, ...]) -> Iterator[str]:
    """Parameters belong to one region, and nothing outside is made of them."""
    free = free_parameters(order)
    owner: dict[Node, Node] = {}
    for node in order:
        if node.op != "loop" or [*_shape(node, RULES["loop"])]:
            continue
        region: Region = node.attrs["region"]
        for parameter in region.parameters:
            if owner.setdefault(parameter, node) is not node:
                yield f"{describe(parameter)}: it is a parameter of two regions"
        if len(set(region.parameters)) != len(region.parameters):
            yield f"{describe(node)}: its region has a parameter twice"
        outside = (*node.args, node.attrs["extent"])
        escaped = frozenset[Node]().union(*(free[item] for item in outside))
        if escaped & set(region.parameters):
            yield f"{describe(node)}: it starts from a parameter of its own region"
    for output in graph.outputs:
        for parameter in sorted(free[output.value], key=order.index):
            yield f"output {output.name}: {describe(parameter)} escapes its region"
