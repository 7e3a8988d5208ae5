"""Where kernels run: on a GPU, or without one in Triton's interpreter."""

import os
import sys
from dataclasses import replace

import torch


def prepare() -> torch.device:
    """Choose the device; without a GPU kernels are interpreted, which Triton asks at import."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if "triton" not in sys.modules:
        os.environ["TRITON_INTERPRET"] = "1"
    _hurry()
    return torch.device("cpu")


def _hurry() -> None:
    """Leave out the interpreter's checks for integer overflow, which take a third of its time.

    They end in device assertions, and those do nothing unless the interpreter debugs.
    """
    from triton.runtime.interpreter import interpreter_builder

    options = interpreter_builder.options
    interpreter_builder.options = replace(options, sanitize_overflow=options.debug)
