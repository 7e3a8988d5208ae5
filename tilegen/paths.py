"""Where the parts of tilegen that are no Python lie, in a checkout and in an installed package."""

from pathlib import Path

from tilegen.errors import TilegenError

PACKAGE = Path(__file__).parent


def template_folder() -> Path:
    """The templates of a checkout, else those of the installed package.

    Raises:
        TilegenError: neither is there.
    """
    checkout, packaged = PACKAGE.parent / "templates", PACKAGE / "templates"
    for folder in (checkout, packaged):
        if (folder / "module.py.jinja").is_file():
            return folder
    raise TilegenError(f"templates are neither in {checkout} nor in {packaged}: reinstall tilegen")
