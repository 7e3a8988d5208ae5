"""What users without a GPU get, the eager reference; run in a process without TRITON_INTERPRET."""

import torch
from integration_cases import CASES, FEW, compare
from integration_models import check_training

from tilegen.integrations import nn as knn


def main() -> None:
    for case in CASES:
        compare(case)
    for case in FEW:
        compare(case, compiled=True)
    check_training(50)
    check_training(50, compiled=True)
    try:
        knn.SiLU(backend="triton")(torch.ones(2))
    except ValueError as error:
        print(error)


if __name__ == "__main__":
    main()
