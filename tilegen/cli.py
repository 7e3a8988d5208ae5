"""The command `tilegen`: thin, and quick to import.

Each command imports what it needs when it runs. A mistake of the user's ends in a message on
stderr and exit status 1, never in a traceback.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tilegen import folder, starter, targets
from tilegen.errors import SpecError, TilegenError, format_error
from tilegen.render.writer import MANIFEST, State

if TYPE_CHECKING:
    from rich.progress import Progress


#: Seconds after which a build shows how far it is.
PATIENCE = 1.0

app = typer.Typer(
    help="Fused GPU kernels from short specs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
console = Console(
    highlight=False, markup=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200
)
complaints = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

Specs = Annotated[Path, typer.Argument(help="A folder of specs, or one spec file.")]
Out = Annotated[Path, typer.Option(help="The folder of the generated modules.")]
Targets = Annotated[
    list[str] | None, typer.Option("--target", help="A GPU to build for; several; default all.")
]


@app.command()
def build(
    specs: Specs,
    out: Out = Path("generated"),
    target: Targets = None,
    check: Annotated[bool, typer.Option("--check", help="Compare, write nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite hand-edited files.")] = False,
) -> None:
    """Build specs into Triton modules, or check that they are up to date."""
    start = time.perf_counter()
    rows = chosen(target)
    if check:
        with _uncollected():
            states = folder.check_folder(specs, out, rows, watch=_watch)
        _print_states(states, out)
        return
    with _uncollected():
        report = folder.build_folder(specs, out, rows, force=force, watch=_watch)
    for note in report.notes:
        complaints.print(f"note: {note}")
    seconds = time.perf_counter() - start
    did = f"{len(report.touched)} files written" if report.touched else "nothing to do"
    console.print(f"{out}: {report.ops} ops, {did} ({seconds:.1f} s)")


def chosen(names: Iterable[str] | None) -> tuple[targets.Target, ...]:
    """The rows of these GPUs, each once; all of them if none is named.

    Raises:
        ValueError: an unknown name; the message lists the known ones.
    """
    if not names:
        return targets.TARGETS
    return tuple(targets.get(name) for name in dict.fromkeys(names))


def _print_states(report: folder.Report, out: Path) -> None:
    """What --check found; exit status 1 if anything is not as the specs say."""
    for note in report.notes:
        complaints.print(f"note: {note}")
    if report.fresh:
        console.print(f"{out}: {report.ops} ops, all up to date")
        return
    other = [state for state in report.states if state.state is not State.FRESH]
    for state in other:
        if state.name != MANIFEST or len(other) == 1:  # it follows from the modules
            console.print(state.diff, end="")
    for state in other:
        console.print(f"{state.state.value}: {out / state.name}")
    raise typer.Exit(1)


def _watch(counts: Iterable[int], total: int) -> Iterator[int]:
    """How many spec files are done, with a progress bar once they take longer than a second."""
    start = time.perf_counter()
    with ExitStack() as stack:
        bar = None
        for done in counts:
            if bar is None and time.perf_counter() - start > PATIENCE:
                bar = stack.enter_context(_progress())
                task = bar.add_task("building", total=total)
            if bar is not None:
                bar.update(task, completed=done)
            yield done


def _progress() -> "Progress":
    """A progress bar that leaves nothing behind, and shows nothing where nobody looks."""
    from rich.progress import Progress

    return Progress(console=complaints, transient=True, disable=not complaints.is_terminal)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage collection: a tenth of a build, all of which the end of the process frees."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def _counted() -> Iterator[Callable[[str, int], None]]:
    """A bar over ops, moved by a function of an op's name and of how many there are."""
    with _progress() as bar:
        task = bar.add_task("importing torch", total=None)
        yield lambda name, total: bar.update(task, description=name, total=total, advance=1)


@app.command("list")
def list_specs(specs: Specs = Path("specs")) -> None:
    """List the specs of a folder: name, family, arguments, first line of the docstring."""
    import inspect

    from rich.table import Table

    from tilegen.errors import BuildFailed
    from tilegen.spec.load import load_folder

    loaded, mistakes = load_folder(specs)
    table = Table("op", "family", "arguments", box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for item in loaded:
        names = ", ".join(inspect.signature(item.spec.fn).parameters)
        summary = (item.source.doc.splitlines() or [""])[0]
        table.add_row(item.spec.name, item.spec.family, names, summary)
    console.print(table)
    if mistakes:
        raise BuildFailed(mistakes)


@app.command()
def new(
    family: Annotated[str, typer.Argument(help="elementwise or rowwise")],
    name: Annotated[str, typer.Argument(help="The op's name, a Python identifier.")],
    out: Annotated[Path, typer.Option(help="The folder of the specs.")] = Path("specs"),
) -> None:
    """Write a commented starter spec of a family."""
    path = starter.write_starter(family, name, out)
    console.print(f"{path} written; build it with `tilegen build {path}`")


@app.command()
def check(
    specs: Specs = Path("specs"),
    out: Out = Path("generated"),
    op: Annotated[list[str] | None, typer.Option("--op", help="Only this op; several.")] = None,
    full: Annotated[bool, typer.Option("--full", help="The whole matrix, not a sample.")] = False,
    seed: Annotated[int, typer.Option(help="Of shapes and inputs.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; each checks one op at a time.")] = 1,
    json: Annotated[Path | None, typer.Option(help="Write every comparison there.")] = None,
) -> None:
    """Prove built modules right: in Triton's interpreter, or compiled where there is a GPU."""
    with _counted() as counted:
        from tilegen.toolchain.check import main_check

        code = main_check(
            specs, out, op or (), full=full, seed=seed, jobs=jobs, json_path=json,
            say=console.print, progress=counted,
        )  # fmt: skip
    raise typer.Exit(code)


@app.command()
def explain(
    op: Annotated[str, typer.Argument(help="The op.")],
    specs: Annotated[Path, typer.Option(help="Where its spec is.")] = Path("specs"),
    out: Out = Path("generated"),
    target: Annotated[str, typer.Option(help="A GPU.")] = "h200",
    dtype: Annotated[str, typer.Option(help="Of its floats.")] = "bf16",
    size: Annotated[
        list[str] | None, typer.Option("--size", help="N=4096; several; usual ones if left out.")
    ] = None,
    variant: Annotated[int, typer.Option(help="Of its specialising arguments.")] = 0,
    backward: Annotated[bool, typer.Option(help="Its gradient.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Also the configs rejected.")] = False,
    ptx: Annotated[
        bool, typer.Option("--ptx", help="Compile it, and count what decides over speed.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say what an op costs, what bounds it, and how its configs were chosen."""
    from tilegen.build import build_named
    from tilegen.explain import explain as explained
    from tilegen.prove import proofs_of

    (row,) = chosen([target])
    built = build_named(specs, op, targets.TARGETS)
    if not 0 <= variant < len(built.variants):
        raise ValueError(f"{op} has the variants 0 to {len(built.variants) - 1}")
    proofs = proofs_of(built, out, targets.TARGETS)
    given = sizes(size or ())
    found = explained(built, given, row, dtype, proofs, variant, backward=backward)
    counts = _ptx_counts(out, op, row, dtype) if ptx else {}
    if json:
        console.print_json(data=found.to_json() | ({"ptx": counts} if ptx else {}))
        return
    console.print(found.text(rejected=every), end="")
    if ptx:
        console.print("\nPTX of the module, by kernel, element size and config")
    for entry, record in counts.items():
        said = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in record.items())
        console.print(f"  {entry}\n      {said}")


def _ptx_counts(out: Path, op: str, row: targets.Target, dtype: str) -> dict[str, dict[str, int]]:
    """What the PTX of each config of a built module holds; nothing for AMD, which has none."""
    from tilegen.ir.types import STORAGE
    from tilegen.toolchain.compile import ptx_records

    size = next(item.bits // 8 for item in STORAGE if item.name == dtype)
    with complaints.status(f"compiling {op}"):
        found = ptx_records(out, op, row, size)
    return {
        name: {count: record[count] for count in record if count not in ("key", "shared")}
        for name, record in found.items()
        if "wide_loads" in record
    }


def sizes(given: Iterable[str]) -> dict[str, int]:
    """Sizes by dimension, from "N=4096".

    Raises:
        ValueError: one is not of that form.
    """
    found = {}
    for text in given:
        name, _, number = text.partition("=")
        if not number.isdecimal():
            raise ValueError(f"--size {text}: write it as N=4096")
        found[name] = int(number)
    return found


@app.command("compile")
def compile_kernels(
    out: Out = Path("generated"),
    target: Targets = None,
    op: Annotated[list[str] | None, typer.Option("--op", help="Only this op; several.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; default: one a core.")] = None,
) -> None:
    """Compile every config of built modules, without a GPU, and record what each needs."""
    from tilegen.toolchain.compile import main_compile

    with _progress() as progress:
        bar = progress.add_task("compiling")

        def watch(done: int, total: int, name: str) -> None:
            progress.update(bar, completed=done, total=total, description=name)

        found = main_compile(out, chosen(target), op or (), jobs, watch)
    for line in (*found.failed, *found.errors):
        complaints.print(f"error: {line}")
    console.print(
        f"{found.compiled} configs compiled, {found.kept} unchanged, {found.rejected} rejected, "
        f"{len(found.spilling)} spill, {len(found.failed) + len(found.errors)} failed"
    )
    if found.failed or found.errors:
        raise typer.Exit(1)


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def bench(context: typer.Context) -> None:
    """Time ops on a GPU against eager PyTorch and other libraries (`tilegen bench --help`)."""
    from tilegen.toolchain.bench import main as run

    raise typer.Exit(run(context.args))


@app.command()
def tour(specs: Specs = Path("specs"), out: Out = Path("generated")) -> None:
    """Show each op at work: its error against PyTorch, and its time where there is a GPU."""
    from rich.table import Table

    with _counted() as counted:
        from tilegen.toolchain import tour as guide

        stops = list(guide.tour(specs, out, counted))
    timed = any(stop.ms is not None for stop in stops)
    columns = ("op", "tensors", "against", "max error", *(("ms", "eager ms") if timed else ()))
    table = Table(*columns, box=None, pad_edge=False)
    for row in guide.rows(stops):
        table.add_row(*row)
    wrong = sum(bool(stop.complaint) for stop in stops)
    console.print(table)
    console.print(f"{len(stops)} ops on {guide.where()}, {wrong or 'none'} wrong")
    if wrong:
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; mistakes of the user's become messages."""
    try:
        app()
    except SpecError as error:
        complaints.print(format_error(error))
        sys.exit(1)
    except (TilegenError, OSError, ValueError) as error:
        complaints.print(_message(error))
        sys.exit(1)


def _message(error: Exception) -> str:
    """An error as one reads it: a mistake in a spec with its place, anything else on one line."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"error: {error.filename}: {error.strerror}"
    text = str(error)
    return text if "\n" in text else f"error: {text}"
