"""transformers is an extra: `make` installs it, a machine without it leaves its tests out."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("transformers") else ["test_transformers.py"]
