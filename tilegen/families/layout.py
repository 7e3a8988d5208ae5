"""How a kernel walks over named dimensions: groups of axes, addresses, masks, positions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tilegen import errors
from tilegen.families.program import Argument, Let, Offset, names_text
from tilegen.ir.graph import Graph, Node, Output


@dataclass(frozen=True, slots=True)
class Group:
    """Dimensions that a kernel walks over together, merged at the call into a few axes.

    Attributes:
        plan: the name of these axes in the launcher's plan.
        label: names the addresses computed once a program.
        dims: the named dimensions, row-major.
        variables: the kernel's position along each axis.
        strides: suffixes of the stride arguments, one for each axis; empty where every operand
            is contiguous.
        once: how many leading axes have their address computed once a program.
        mask: which positions exist; empty if all do.
        linear: the row-major position over all axes.
        sizes: integer arguments that tell the axes' sizes.
        mixed: some tensor has a part of the dimensions, so that positions are taken apart again.
        counted: its total tells its positions from those of a group outside it.
    """

    plan: str
    label: str
    dims: tuple[str, ...]
    variables: tuple[str, ...]
    strides: tuple[str, ...]
    once: int
    mask: str
    linear: str
    sizes: tuple[Argument, ...]
    mixed: bool = False
    counted: bool = False

    @property
    def axes(self) -> Let:
        """The variable of the plan that holds its axes."""
        if self.mixed:
            return Let(self.plan, f"call.line({names_text(self.dims)})")
        spare = ", spare_last=True" if self.once > 1 else ""
        limit = len(self.variables)
        return Let(self.plan, f"call.axes({names_text(self.dims)}, limit={limit}{spare})")

    @property
    def total(self) -> str:
        """The argument that holds how many positions there are."""
        return self.sizes[0].names[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that a kernel uses for it."""
        sizes = [name for argument in self.sizes for name in argument.names]
        pairs = (f"{self.linear}_pairs", f"{self.mask}_pairs")
        return (*self.variables, *sizes, self.linear, self.mask, *pairs)


def total_of(dims: Sequence[str], several: str) -> str:
    """The argument that counts positions along some dimensions."""
    return dims[0] if len(dims) == 1 else several


def row_group(dims: tuple[str, ...], mask: str) -> Group:
    """Rows, over three axes; without dimensions there is one row."""
    names = ("row_0", "row_1", "row_2")
    sizes = (
        Argument((total_of(dims, "ROWS"),), "rows.total"),
        Argument(("ROWS_1", "ROWS_2"), "*rows.sizes[1:]"),
    )
    return Group("rows", "rows", dims, names, names, 3, mask, "rows", sizes if dims else ())


def column_group(dims: tuple[str, ...]) -> Group:
    """Columns over one axis."""
    sizes = (Argument((total_of(dims, "COLS"),), "cols.total"),)
    return Group("cols", "cols", dims, ("cols",), ("col",), 0, "in_cols", "cols", sizes)


@dataclass
class Layout:
    """The groups of a kernel, and the arguments that its addresses turn out to need."""

    graph: Graph
    groups: tuple[Group, ...]
    _strides: dict[tuple[str, ...], Argument] = field(default_factory=dict)
    _sizes: dict[str, Argument] = field(default_factory=dict)
    _offsets: dict[str, Offset] = field(default_factory=dict)

    def reserved(self) -> set[str]:
        """The names that arguments and addresses may have, which values must leave alone."""
        tensors = [*(o.name for o in self.graph.operands), *(o.name for o in self.graph.outputs)]
        endings = {"ptr", *(f"stride_{dim}" for dim in self.graph.dims)}
        for group in self.groups:
            endings |= {group.label, *group.strides}
        walked = {name for group in self.groups for name in group.names}
        return walked | {f"{tensor}_{ending}" for tensor in tensors for ending in endings}

    @property
    def integers(self) -> tuple[Argument, ...]:
        """The integer arguments: sizes of axes, other sizes, strides."""
        axes = [argument for group in self.groups for argument in self._of_axes(group)]
        known = {name for argument in axes for name in argument.names}
        others = [a for name, a in self._sizes.items() if name not in known]
        return (*axes, *others, *self._strides.values())

    def _of_axes(self, group: Group) -> tuple[Argument, ...]:
        """The sizes that a kernel needs of a group: the total if something ends there."""
        if not group.sizes or group.mask or group.counted or group.total in self._sizes:
            return group.sizes
        return group.sizes[1:]

    @property
    def offsets(self) -> tuple[Offset, ...]:
        """Addresses to compute once a program."""
        return tuple(self._offsets.values())

    def size(self, dim: str) -> str:
        """The argument that holds the size of a dimension."""
        fixed = self.graph.dims[dim].size
        if fixed is not None:
            return str(fixed)
        self._sizes[dim] = Argument((dim,), f'call.sizes["{dim}"]')
        return dim

    def group(self, dim: str) -> Group:
        """The group that walks over a dimension."""
        for group in self.groups:
            if dim in group.dims:
                return group
        raise errors.Unschedulable(f"the kernel does not walk over {dim}")

    def position(self, dim: str) -> str:
        """The position along a dimension: an expression that binds as a product does."""
        group = self.group(dim)
        if len(group.dims) == 1:
            return group.linear if group.linear.isidentifier() else f"({group.linear})"
        place = group.dims.index(dim)
        text = group.linear if group.linear.isidentifier() else f"({group.linear})"
        inner = [self.size(name) for name in group.dims[place + 1 :]]
        for name in inner:
            text = f"{text} // {name}"
        return f"({text} % {self.size(dim)})" if place else f"({text})"

    def mask(self, dims: tuple[str, ...]) -> str:
        """Which elements of a value with these dimensions exist."""
        masks = [g.mask for g in self.groups if g.mask and set(g.dims) & set(dims)]
        return " & ".join(masks)

    def block(self, dims: tuple[str, ...]) -> str:
        """A variable in whose shape a value with these dimensions is loaded; empty for scalars."""
        if self.shaped == "rows":
            return "rows"
        masked = [group for group in self.groups if group.mask and set(group.dims) & set(dims)]
        return masked[-1].variables[-1] if masked else ""

    @property
    def shaped(self) -> str:
        """A variable of a tile's rank that every program has; empty in elementwise kernels."""
        known = ("rows", "outer")
        return next((g.linear for g in reversed(self.groups) if g.linear in known), "")

    def address(
        self, tensor: str, at: list[tuple[str, Node | None, str]], known: Mapping[str, str]
    ) -> str:
        """The pointer to an element.

        `at` gives, for each elementary dimension in memory order, its name, and, where the
        position is not the kernel's own along it, the node or the text of the position. `known`
        gives strides that follow from others, by dimension.
        """
        own = [dim for dim, node, text in at if node is None and not text]
        terms = [f"{tensor}_ptr"]
        for group in self.groups:
            mine = [dim for dim in own if dim in group.dims]
            blocked = {dim for dim, node, text in at if node is not None or text} & set(group.dims)
            if mine and (blocked or group.mixed):
                terms += [self._term(tensor, dim, self.position(dim)) for dim in mine]
            elif len(mine) == 1 and group.dims[0] in known and len(group.variables) == 1:
                terms.append(f"{group.variables[0]} * ({known[group.dims[0]]})")
            elif mine:
                terms = self._group_terms(tensor, group, terms)
        for dim, node, text in at:
            if node is not None or text:
                terms.append(self._term(tensor, dim, text))
        return " + ".join(term for term in terms if term)

    def stride(self, tensor: str, dim: str) -> str:
        """The argument that holds the stride of a tensor along one dimension."""
        name = f"{tensor}_stride_{dim}"
        self._strides[(name,)] = Argument((name,), f'call.stride("{tensor}", "{dim}")')
        return name

    def _term(self, tensor: str, dim: str, position: str) -> str:
        if position == "0":
            return ""
        name = self.stride(tensor, dim)
        return name if position == "1" else f"{position} * {name}"

    def _group_terms(self, tensor: str, group: Group, terms: list[str]) -> list[str]:
        if not group.strides:
            return [*terms, group.variables[0]]
        names = tuple(f"{tensor}_{suffix}" for suffix in group.strides)
        star = "*" if len(names) > 1 else ""
        tail = "" if star else "[0]"
        self._strides[names] = Argument(names, f'{star}{group.plan}.strides("{tensor}"){tail}')
        pairs = list(zip(group.variables, names, strict=True))
        if group.once:
            base = f"{tensor}_{group.label}"
            self._offsets[base] = Offset(base, terms[0], tuple(pairs[: group.once]))
            terms = [base, *terms[1:]]
        return [*terms, *(f"{variable} * {name}" for variable, name in pairs[group.once :])]


def output_places(output: Output) -> list[tuple[list[tuple[str, Node | None, str]], Node]]:
    """Where each component of an output goes: its place in every dimension, and its value."""
    places: list[tuple[dict[str, str], Node]] = [({}, output.value)]
    while any(value.op == "stack" for _, value in places):
        places = [
            ({**fixed, value.attrs["dim"]: str(position)}, part)
            for fixed, value in places
            for position, part in enumerate(value.args)
        ]
    return [
        ([(dim, None, fixed.get(dim, "")) for dim in output.dims], value) for fixed, value in places
    ]


def membership(graph: Graph, dims: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Neighbouring dimensions that the same tensors have, group by group."""
    having: dict[str, set[str]] = {dim: set() for dim in dims}
    for node in graph.nodes:
        if node.op == "load":
            for dim, arg in zip(node.attrs["dims"], node.args, strict=False):
                if dim in having and arg.op == "index" and arg.dims == (dim,):
                    having[dim].add(node.attrs["tensor"])
    for output in graph.outputs:
        for dim in output.dims:
            if dim in having:
                having[dim].add(output.name)
    groups: list[tuple[str, ...]] = []
    for dim in dims:
        if groups and having[groups[-1][-1]] == having[dim]:
            groups[-1] += (dim,)
        else:
            groups.append((dim,))
    return tuple(groups)


def joined(
    groups: Sequence[tuple[str, ...]], most: int
) -> tuple[tuple[tuple[str, ...], bool], ...]:
    """At most so many groups, the outermost ones as one; and whether a group is such a one."""
    surplus = len(groups) - most
    if surplus <= 0:
        return tuple((dims, False) for dims in groups)
    first = tuple(dim for dims in groups[: surplus + 1] for dim in dims)
    return ((first, True), *((dims, False) for dims in groups[surplus + 1 :]))


def walked(graph: Graph) -> tuple[str, ...]:
    """The dimensions that a kernel walks over: all but those that `stack` takes apart."""
    found = {dim for node in graph.nodes for dim in node.dims}
    stacked = {node.attrs["dim"] for node in graph.nodes if node.op == "stack"}
    return graph.ordered(found - stacked)


def positional(graph: Graph, dims: Collection[str] | None = None) -> bool:
    """Whether values depend on the position of elements, along these dims or along any."""
    return any(
        (node.op == "uniform" and dims is None)
        or any(a.op == "index" and (dims is None or a.dims[0] in dims) for a in node.args)
        for node in graph.nodes
        if node.op != "load"
    )
