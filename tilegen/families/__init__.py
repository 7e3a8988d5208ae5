"""One file a family: how a graph of that family becomes kernels.

A family is a row of `FAMILIES`: a function from a graph to a `Program`, which is data (kernels,
arguments, schedules). Templates print it; nothing here joins lines of code, except for the
expressions inside them.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from tilegen import errors
from tilegen.families import elementwise, rowwise, sums
from tilegen.families.lower import LineOf
from tilegen.families.partition import Stage
from tilegen.families.program import Kernel, Let, Program, Schedule
from tilegen.ir.graph import Graph
from tilegen.ir.numerics import improve
from tilegen.ir.verify import verify

FAMILIES: dict[str, Callable[[Graph, str, LineOf, str], Program]] = {
    "elementwise": elementwise.plan,
    "rowwise": rowwise.plan,
    "sums": sums.plan,
}


def check_family(family: str, graph: Graph) -> None:
    """Whether a graph is what the decorator of its spec asserts.

    Raises:
        FamilyMismatch: an elementwise op has a reduction, a rowwise one has none, a matmul one has no
            product, or another one has.
    """
    product = next((node for node in graph.nodes if node.op == "contract"), None)
    if family == "matmul":
        if product is None:
            raise errors.FamilyMismatch("a matmul op without a product", None, "use @ or dot()")
        return
    if product is not None:
        article = "an" if family == "elementwise" else "a"
        raise errors.FamilyMismatch(
            f"a product in {article} {family} op", product.span, "use @matmul"
        )
    found = next((node for node in graph.nodes if node.op == "reduce"), None)
    if family == "elementwise" and found is not None:
        raise errors.FamilyMismatch(
            f"{found.attrs['monoid']}() in an elementwise op", found.span, "use @rowwise"
        )
    if family == "rowwise" and found is None:
        raise errors.FamilyMismatch("a rowwise op without a reduction", None, "use @elementwise")


def programs(
    stages: Sequence[Stage], suffix: str, line_of: LineOf, part: str = ""
) -> tuple[Program, ...]:
    """The kernels of each stage, in order; a fused stage comes last, and knows the others.

    Args:
        stages: of one variant.
        suffix: tells the variant from the others in names.
        line_of: gives the line of the spec that a node came from.
        part: of the module ("backward"), whose kernels have tables of configs of their own.
    """
    if len(stages) == 1:
        return (_program(stages[0], suffix, line_of, part),)
    found: list[Program] = []
    for at, stage in enumerate(stages, 1):
        if stage.fused:
            program = _program(stage, suffix, line_of, part)
            found.append(replace(program, stages=tuple(one.suffix for one in found)))
            continue
        program = _program(stage, f"{suffix}_stage_{at}", line_of, part)
        tensors = [operand.name for operand in stage.graph.operands]
        tensors += [output.name for output in stage.graph.outputs]
        own = Let("call", f"call.among({', '.join(map(repr, tensors))})")
        found.append(replace(program, lets=(own, *program.lets)))
    return tuple(found)


def named_alike(programs: Sequence[Program], known: dict[Hashable, str]) -> tuple[Program, ...]:
    """The same, where a kernel that reads as an earlier one of the module has its name.

    `known` has the names, by what a kernel's text is made of; new ones are added. A kernel of a
    stage says which in its name, and is not that of another.
    """

    def schedule(one: Schedule, stage: int) -> Schedule:
        kernels = (
            replace(k, name=known.setdefault((stage, _text(k)), k.name)) for k in one.kernels
        )
        return replace(one, kernels=tuple(kernels))

    found = []
    for at, program in enumerate(programs, 1):
        stage = 0 if program.stages or len(programs) == 1 else at
        made = tuple(schedule(one, stage) for one in program.schedules)
        found.append(replace(program, schedules=made))
    return tuple(found)


def _text(kernel: Kernel) -> Hashable:
    """What the text of a kernel is made of, but for its name."""
    integers = tuple(argument.names for argument in kernel.integers)
    constants = tuple(name for name, _ in kernel.constants)
    return (
        kernel.template, kernel.doc, kernel.tensors, integers, kernel.params, kernel.offsets,
        kernel.sweeps, constants, repr(kernel.facts),
    )  # fmt: skip


def _program(stage: Stage, suffix: str, line_of: LineOf, part: str) -> Program:
    graph = improve(stage.graph)
    verify(graph)
    return FAMILIES[stage.family](graph, suffix, line_of, part)
