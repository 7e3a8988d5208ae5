"""What a family makes of a graph: kernels, their arguments, grids and the choice between them.

All of it is data. Templates print it for Python; another exporter could print it for another
language. Expressions of kernels are text in the kernel language, made by `families.printer`; those
of a plan (grids, constants, predicates, sizes) are Python over the call and the plan's variables,
each a single expression, so that `ast` reads them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tilegen.ir.graph import Graph, Output

#: The constant of kernels whose rows are short enough to load ahead of the reductions.
EARLY = "EARLY"


@dataclass(frozen=True, slots=True)
class Statement:
    """One line of a kernel.

    Attributes:
        kind: load, assign, store; pair and join load and store two neighbours at once.
        target: the name assigned; two, joined by a comma, for a pair.
        value: the expression assigned or stored; empty for a load.
        pointer: address of a load or store.
        mask: which elements of a load or store exist; empty if all do.
        other: what a load gives elsewhere.
        policy: eviction policy of a load, cache modifier of a store; empty for the default.
        step: the stride between the two of a pair or join.
        shape: that of the pairs, where a pair or join is one line of memory; else empty.
        real: whether a load widens to the kernel's float type.
        whole: whether a load widens narrow integers.
        comment: the line of the spec that this became; empty if it was said before.
        when: a constant under which it is a part of the kernel; empty if it always is.
    """

    kind: str
    target: str = ""
    value: str = ""
    pointer: str = ""
    mask: str = ""
    other: str = ""
    policy: str = ""
    step: str = ""
    shape: str = ""
    real: bool = False
    whole: bool = False
    comment: str = ""
    when: str = ""

    @property
    def early(self) -> bool:
        """Whether it is a load that short rows issue ahead of the reductions."""
        return self.when == EARLY

    @property
    def pads_lowest(self) -> bool:
        """Whether a load to floats gives -inf elsewhere, which no fp8 type takes from Triton."""
        return self.real and self.other == 'float("-inf")'

    def widened(self, loaded: str) -> str:
        """What the kernel computes with, from what a load gave in its storage type."""
        if self.pads_lowest:
            value = f"lowest_padded({loaded}, {self.mask}, FLOAT)"
        else:
            value = f"{loaded}.to(FLOAT)" if self.real else loaded
        return f"at_least_32({value})" if self.whole else value


@dataclass(frozen=True, slots=True)
class Accumulator:
    """One loop-carried state of an online reduction.

    Attributes:
        name: of the variable.
        start: its value before the loop.
        dtype: its type, as the kernel writes it.
        shape: as the kernel writes it: by default one for each lane.
    """

    name: str
    start: str
    dtype: str
    shape: str = "(LANES, 1)"


@dataclass(frozen=True, slots=True)
class Sweep:
    """One pass over a row: what it carries, what it does to a block, what follows it.

    Attributes:
        before: statements ahead of the pass, on whole rows.
        sample: statements on its first block, ahead of the pass.
        accumulators: the states carried from block to block; empty for the pass that stores.
        body: the statements of one block; empty if the pass was not needed.
        after: the statements that finish the row's statistics and use them.
        ahead: loads that are issued one block ahead of the body.
        arrived: how the body's variables take over what was loaded ahead.
    """

    before: tuple[Statement, ...]
    accumulators: tuple[Accumulator, ...]
    body: tuple[Statement, ...]
    after: tuple[Statement, ...]
    sample: tuple[Statement, ...] = ()
    ahead: tuple[Statement, ...] = ()
    arrived: tuple[Statement, ...] = ()

    @property
    def ahead_next(self) -> tuple[Statement, ...]:
        """The loads ahead, at the columns of the next block."""
        return tuple(
            replace(
                load,
                pointer=re.sub(r"\b(cols(?:_[01])?)\b", r"next_\1", load.pointer),
                mask=re.sub(r"\bin_cols(_[01])?\b", r"in_next\1", load.mask),
            )
            for load in self.ahead
        )


@dataclass(frozen=True, slots=True)
class Offset:
    """The address of an operand's row (or outer axes): name, base pointer, stride arguments."""

    name: str
    pointer: str
    strides: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """Integer arguments of a kernel and where the launcher gets them.

    Attributes:
        names: in the kernel; several for the strides of several axes.
        source: an expression over the plan's variables, starred if it gives several.
    """

    names: tuple[str, ...]
    source: str


def needed(output: Output) -> str:
    """The constant that says whether a call wants an output; empty if every call does."""
    return f"NEEDS_{output.name.upper()}" if output.optional else ""


def needs(outputs: Sequence[Output], sweeps: Sequence[Sweep]) -> dict[str, str]:
    """The constants of a kernel that say which outputs a call wants, for its statements."""
    lines = [line for sweep in sweeps for line in (*sweep.body, *sweep.after)]
    named = {name for line in lines for name in line.when.split(" or ")}
    return {
        needed(output): f'call.needs("{output.name}")'
        for output in outputs
        if needed(output) in named - {""}
    }


def settled(sweeps: Sequence[Sweep]) -> tuple[Sweep, ...]:
    """Sweeps of a kernel without the constant that all its stores hang on, if there is such a one.

    A call that does not want what a kernel stores does not launch it.
    """
    lines = [line for sweep in sweeps for line in (*sweep.body, *sweep.after)]
    wanted = {line.when for line in lines if line.kind in ("store", "join")}
    if len(wanted) > 1:
        return tuple(sweeps)

    def free(line: Statement) -> Statement:
        return replace(line, when="") if line.when in wanted else line

    return tuple(
        replace(sweep, body=tuple(map(free, sweep.body)), after=tuple(map(free, sweep.after)))
        for sweep in sweeps
    )


def names_text(names: Sequence[str]) -> str:
    """Names as the text of a tuple of strings."""
    text = ", ".join(f'"{name}"' for name in names)
    return f"({text},)" if len(names) == 1 else f"({text})"


@dataclass(frozen=True, slots=True)
class Let:
    """A variable of the plan: one name or several, joined by commas, and what they are."""

    name: str
    value: str


@dataclass(frozen=True, eq=False, slots=True)
class Kernel:
    """One kernel of a program; compared by identity.

    Attributes:
        name: of the jitted function.
        template: which template prints it.
        doc: one line: what a program does.
        tensors: operands, outputs and workspaces, in argument order.
        integers: sizes and strides.
        params: run-time scalars.
        offsets: addresses computed once a program.
        sweeps: passes over the row; a kernel without loops has one.
        grid: how many programs run.
        constants: compile-time arguments, and what the plan gives them.
        serves: results without all of which a call does without the kernel; empty if none does.
        facts: what its template needs besides: axis names, tile symbols.
    """

    name: str
    template: str
    doc: str
    tensors: tuple[str, ...]
    integers: tuple[Argument, ...]
    params: tuple[str, ...]
    offsets: tuple[Offset, ...]
    sweeps: tuple[Sweep, ...]
    grid: str
    constants: tuple[tuple[str, str], ...]
    serves: tuple[str, ...] = ()
    facts: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A tensor that one kernel of a schedule leaves for the next.

    Attributes:
        name: in the kernels.
        shape: of each axis, an expression over the plan's variables.
        dtype: FLOAT for the kernel's float type, else an attribute of torch.
        dims: the dimensions of the graph that it has, for its size in closed form.
        parts: what counts its elements for each place in those.
    """

    name: str
    shape: tuple[str, ...]
    dtype: str
    dims: tuple[str, ...]
    parts: str


def space_name(kind: str, part: str = "") -> str:
    """The table of the configs of a kind of schedule, in a part of a module (or all of it)."""
    return f"{part}_{kind}_CONFIGS".strip("_").upper()


@dataclass(frozen=True, eq=False, slots=True)
class Schedule:
    """One way to compute a program: kernels launched in order, and when; compared by identity.

    Attributes:
        kind: a row of `schedule.kinds`: flat, tiled, block, loop, split, sums or columns.
        space: the table that its config is chosen from, by `space_name`.
        time: the cost function of its configs, and what it takes of the call.
        kernels: launched in order.
        possible: the predicate under which it is right; empty if it always is.
        preferred: the predicate under which it is taken; empty for the last resort.
        before: variables of the plan that its predicates and times need.
        lets: variables of the plan once `config` is chosen.
        passes: how often it goes over memory (for the cost model).
        workspaces: what the kernels hand to one another.
    """

    kind: str
    space: str
    time: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    possible: str = ""
    preferred: str = ""
    before: tuple[Let, ...] = ()
    lets: tuple[Let, ...] = ()
    passes: int = 1
    workspaces: tuple[Workspace, ...] = ()

    @property
    def table(self) -> str:
        """What tells its table from the others of a module ("block", "backward_block")."""
        return self.space.removesuffix("_CONFIGS").lower()


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """The kernels that compute one graph, and how a call chooses among them.

    Compared by identity, as kernels and schedules are: what is found out about one is kept.

    Attributes:
        graph: what it computes.
        suffix: tells the variants of a spec apart in names; empty if there is one.
        rows: the dimensions that stay, row-major.
        columns: the dimensions that are reduced; of sums over rows, those of a row; empty for an
            elementwise op.
        schedules: the ways to compute it, the plainest first.
        lets: variables of the plan that all schedules share.
        compared: whether the predicates compare the times of all schedules.
        refusal: a predicate and a message: calls that no schedule can take.
        notes: what `explain` says about the choices made.
        stages: suffixes of the programs that together compute the same, for calls that no schedule
            takes; empty if one always does.
    """

    graph: Graph
    suffix: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    schedules: tuple[Schedule, ...]
    lets: tuple[Let, ...] = ()
    compared: bool = False
    refusal: tuple[str, str] | None = None
    notes: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()

    @property
    def reduced(self) -> tuple[str, ...]:
        """The dimensions that its reductions run over."""
        nodes = [node for node in self.graph.nodes if node.op == "reduce"]
        return self.graph.ordered(dim for node in nodes for dim in node.attrs["over"])

    @property
    def asked(self) -> tuple[Schedule, ...]:
        """The schedules in the order in which a plan asks their predicates; the last has none."""

        def order(one: Schedule) -> tuple[bool, int]:
            return not (one.possible or one.preferred), -len(one.kernels)

        return tuple(sorted(self.schedules, key=order))

    @property
    def simplest(self) -> Schedule:
        """The schedule with the fewest kernels and passes: what the op costs at least."""
        return min(self.schedules, key=lambda one: (len(one.kernels), one.passes))
