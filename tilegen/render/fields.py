"""How a module writes down one operand, one parameter, one result, and a tuple of such."""

from collections.abc import Sequence

from tilegen.ir import types
from tilegen.ir.graph import Operand, Output, Param


def tuple_text(items: Sequence[str]) -> str:
    """A tuple of what these say."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _stored(stored: tuple[tuple[str, ...], ...]) -> str:
    names = [repr(group[0]) if len(group) == 1 else repr(group) for group in stored]
    return tuple_text(names)


def operand_text(operand: Operand) -> str:
    """An input."""
    parts = [repr(operand.name), _stored(operand.stored)]
    if operand.dtype.bits and operand.dtype is not types.bool_:
        parts.append(f'kind="{operand.dtype.kind}", dtypes=(torch.{operand.dtype.torch},)')
    elif operand.dtype.kind != "float":
        parts.append(f'kind="{operand.dtype.kind}"')
    if operand.optional:
        parts.append("optional=True")
    return f"Operand({', '.join(parts)})"


def param_text(param: Param) -> str:
    """An argument that is no tensor."""
    parts = [repr(param.name), repr(param.kind)]
    if not param.required:
        parts.append(repr(param.default))
    if param.dim:
        parts.append(f"dim={param.dim!r}")
    if param.choices:
        parts.append(f"choices={param.choices!r}")
    if param.optional:
        parts.append("optional=True")
    return f"Param({', '.join(parts)})"


def output_text(output: Output, serves: tuple[str, ...] = ()) -> str:
    """A result, and the results that are made of it."""
    dtype = output.dtype
    if dtype.like:
        said = f"like={dtype.like!r}"
    elif dtype is types.real:
        said = 'dtype="float"'
    else:
        said = f"dtype=torch.{dtype.torch}"
    said += f", serves={serves}" if serves else ""
    return f"Output({output.name!r}, {_stored(output.stored)}, {said})"
