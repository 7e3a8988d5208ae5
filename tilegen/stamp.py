"""Whether a build has anything to do, told in milliseconds and without importing the pipeline.

A build leaves a stamp: one hash over all it read and the manifest that it wrote. While nothing of
that changes, and every file still has the hash that the manifest holds, the folder is up to date.

The stamp lies in the folder's ``__pycache__``, not in the manifest: it changes with every edit of
tilegen's own sources, and what git, wheels and editors leave out already is the place for that.
Losing it costs one full build.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

from tilegen.paths import PACKAGE, template_folder
from tilegen.render.writer import MANIFEST, content_hash, read_manifest, read_text
from tilegen.spec.load import shown

#: Parts of tilegen that a build does not use.
APART = ("toolchain", "integrations", "cli.py", "__main__.py", "templates", "kernels")
#: Packages whose version shows in what is built.
TOOLS = ("jinja2", "ruff", "sympy")


def input_hash(specs: Path, out: Path, targets: Iterable[str]) -> str:
    """A hash over all that a build of `specs` into `out` reads.

    Raises:
        OSError: a file cannot be read.
    """
    digest = hashlib.sha256()
    settings = [shown(specs), *targets, sys.version, *(metadata.version(tool) for tool in TOOLS)]
    digest.update(json.dumps(settings).encode())
    for root, file in _inputs(specs, out):
        digest.update(f"\0{file.relative_to(root)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _inputs(specs: Path, out: Path) -> Iterator[tuple[Path, Path]]:
    """Files that a build reads, each with the folder that its name is relative to."""
    for file in sorted(PACKAGE.rglob("*.py")):
        if file.relative_to(PACKAGE).parts[0] not in APART:
            yield PACKAGE, file
    templates = template_folder()
    for file in sorted(templates.rglob("*.jinja")):
        yield templates, file
    for file in sorted(_beside(specs, out)):
        if file.is_file():
            yield specs, file
    for file in sorted((out / "compiled").glob("*.json")):
        yield out, file


def _beside(specs: Path, out: Path) -> Iterator[Path]:
    """The specs, and the helpers and folders of helpers beside them."""
    yield from specs.glob("*.py")
    for folder in specs.iterdir():
        hidden = folder.name.startswith((".", "__pycache__"))
        if folder.is_dir() and not hidden and folder.resolve() != out.resolve():
            yield from folder.rglob("*.py")


def helper_files(modules: Iterable[str]) -> list[Path]:
    """Files of a user's own that specs imported from elsewhere: neither tilegen's nor installed."""
    installed = tuple(Path(place) for place in (PACKAGE, sys.prefix, sys.base_prefix))
    files = [getattr(sys.modules.get(name), "__file__", None) for name in modules]
    return sorted(
        path
        for path in (Path(file).resolve() for file in files if file)
        if not any(path.is_relative_to(place) for place in installed)
    )


def is_fresh(out: Path, inputs: str) -> bool:
    """Whether `out` holds, unchanged, what a build from these inputs wrote."""
    stamp, manifest = _stamp(out), out / MANIFEST
    if not stamp.is_file() or not manifest.is_file():
        return False
    seal, *helpers = read_text(stamp).splitlines()
    if seal != _seal(inputs, read_text(manifest), [Path(name) for name in helpers]):
        return False
    return all(
        (out / name).is_file() and content_hash(read_text(out / name)) == written
        for name, written in read_manifest(out)["files"].items()
    )


def set_stamp(out: Path, inputs: str, helpers: Sequence[Path]) -> None:
    """Say that `out` is up to date with these inputs and these files of helpers."""
    path = _stamp(out)
    path.parent.mkdir(exist_ok=True)
    seal = _seal(inputs, read_text(out / MANIFEST), helpers)
    path.write_text("\n".join([seal, *map(str, helpers)]), encoding="utf-8")


def drop_stamp(out: Path) -> None:
    """Say that nothing is known of `out`."""
    _stamp(out).unlink(missing_ok=True)


def _stamp(out: Path) -> Path:
    return out / "__pycache__" / "tilegen.stamp"


def _seal(inputs: str, manifest: str, helpers: Iterable[Path]) -> str:
    texts = [read_text(file) if file.is_file() else "" for file in helpers]
    return content_hash("\0".join([inputs, manifest, *texts]))
