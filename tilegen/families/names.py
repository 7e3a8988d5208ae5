"""Names of a kernel's variables, and those that they must leave alone."""

from dataclasses import dataclass

from tilegen.ir.graph import Graph

#: Helpers of `_runtime.py` and variables of the templates.
RESERVED = frozenset(
    [
        "tl",
        "triton",
        "torch",
        "FLOAT",
        "INT",
        "BLOCK_M",
        "BLOCK_N",
        "BLOCK_0",
        "BLOCK_1",
        "BLOCK",
        "LANES",
        "VECTOR",
        "SPLITS",
        "CHUNK",
        "narrow",
        "scalar",
        "tanh",
        "erf",
        "exact_gelu",
        "log1p",
        "expm1",
        "round_even",
        "nan_max",
        "nan_min",
        "maximum",
        "minimum",
        "arg_max",
        "arg_min",
        "uniform",
        "floor_divide",
        "floor_mod",
        "power",
        "logsumexp_step",
        "logsumexp_end",
        "deviations",
        "block_mean",
        "moments_step",
        "moments_end",
        "moments_join",
        "exp",
        "sigmoid",
        "below",
        "lowest_padded",
        "at_least_32",
        "uniform_line",
        "block",
        "blocks",
        "splits",
        "leads",
        "lane_0",
        "lane_1",
        "outer",
        "tiles_0",
        "tiles_1",
        "tiles_2",
        "tiles_3",
        "in_cols_0",
        "in_cols_1",
        "next_cols",
        "next_cols_0",
        "next_cols_1",
        "in_next",
        "in_next_0",
        "in_next_1",
        "EVEN",
        "EVEN_0",
        "EVEN_1",
        "EVEN_M",
        "EVEN_N",
        "EARLY",
        "HEIGHT",
        "WIDTH",
        "BLOCK_S",
        "rows",
        "cols",
        "cols_0",
        "cols_1",
        "in_rows",
        "in_cols",
        "row_0",
        "row_1",
        "row_2",
        "axis_0",
        "axis_1",
        "axis_2",
        "axis_3",
        "inside",
        "start",
        "stop",
        "split",
        "lane",
        "offsets",
        "ROWS",
        "ROWS_1",
        "ROWS_2",
        "COLS",
        "COLS_0",
        "COLS_1",
        "NUMEL",
        "SIZE_0",
        "SIZE_1",
        "SIZE_2",
        "SIZE_3",
        "tile",
        "range",
        "min",
        "max",
        "len",
        "int",
        "float",
        "True",
        "False",
        "None",
        "and",
        "or",
        "not",
        "in",
        "is",
        "if",
        "else",
        "for",
        "while",
        "def",
        "return",
        "class",
        "lambda",
        "pass",
        "break",
        "continue",
        "import",
        "from",
        "as",
        "with",
        "try",
        "except",
    ]
)


def taken(graph: Graph) -> set[str]:
    """All names that are spoken for in the kernels of a graph: parameters keep theirs."""
    names = set(RESERVED) | set(graph.dims)
    names |= {param.name for param in graph.params}
    return names


@dataclass
class Names:
    """Hands out names that no argument, helper or other variable of the kernel has."""

    taken: set[str]

    def __call__(self, wish: str) -> str:
        """A free name, as near to the wish as may be."""
        name, count = wish, 2
        while name in self.taken:
            name, count = f"{wish}_{count}", count + 1
        self.taken.add(name)
        return name
