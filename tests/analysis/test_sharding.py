"""Which dims may be split, and which results are terms of a sum then."""

import math
from pathlib import Path

import pytest

from tilegen import M, N, Size, Tensor, Value, elementwise, index, rowwise, size, sum, uniform
