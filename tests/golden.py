"""Golden files: what a text was when somebody last looked at it."""

import difflib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
FLAG = "--update-golden"


@dataclass(frozen=True)
class Golden:
    """Compares texts with files under tests/golden, or writes them (`update`)."""

    update: bool
    folder: Path = FOLDER

    def check(self, name: str, text: str) -> None:
        """Fail with a diff and a hint if `text` is not what the file holds."""
        path = self.folder / name
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        hint = f"if the new text is right, accept it with {FLAG} and look at the diff in git"
        if not path.exists():
            raise AssertionError(f"there is no golden file {name}; {hint}")
        old = path.read_text()
        if old != text:
            lines = difflib.unified_diff(
                old.splitlines(), text.splitlines(), f"golden/{name}", "now", lineterm=""
            )
            raise AssertionError("\n".join((f"{name} has changed; {hint}", *lines)))
