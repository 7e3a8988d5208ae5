"""The flag `--update-golden` and the fixture `golden`.

A conftest loads it, by `pytest_plugins` or by importing both names.
"""

import contextlib

import pytest
from golden import FLAG, Golden


def pytest_addoption(parser: pytest.Parser) -> None:
    # Several conftests may bring the flag.
    with contextlib.suppress(ValueError):
        parser.addoption(
            FLAG, action="store_true", help="write golden files instead of comparing with them"
        )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(update=bool(request.config.getoption(FLAG, default=False)))
