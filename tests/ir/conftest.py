import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden_plugin import golden, pytest_addoption

__all__ = ["golden", "pytest_addoption"]
