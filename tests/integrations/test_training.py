"""A block of generated modules trains as an eager one does: on a GPU, else in the interpreter."""

import pytest
from integration_models import check_training


def test_fifty_steps_follow_the_eager_block() -> None:
    check_training(50)


def test_compiled_steps_follow_the_eager_block() -> None:
    check_training(5, compiled=True)


@pytest.mark.gpu
def test_fifty_compiled_steps_on_a_gpu() -> None:
    check_training(50, compiled=True)
