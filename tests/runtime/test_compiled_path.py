"""The fast path with stand-ins for Triton's compiler and driver, which need a GPU."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
import triton
from triton.runtime.interpreter import InterpretedFunction


class Machine:
    """Records what is compiled and launched."""

    def __init__(self):
        self.compiled = []
        self.launches = []
        self.slow_launches = []
        self.refuses = lambda options: False

    def warmup(self, kernel, arguments, options):
        grid = options.pop("grid")
        if self.refuses(options):
            raise triton.OutOfResources(1 << 20, 1 << 16, "shared memory")
        self.compiled.append((kernel.__name__, arguments, options))
        number = len(self.compiled)

        def run(*launched):
            assert launched[:3] == grid
            assert launched[3:9] == ("stream", number, "packed", None, None, None)
            self.launches.append((number, launched[9:]))

        return SimpleNamespace(run=run, function=number, packed_metadata="packed")


@pytest.fixture
def machine(runtime, monkeypatch):
    machine = Machine()
    active = SimpleNamespace(get_current_stream=lambda index: "stream")

    def warmup(self, *arguments, **options):
        return machine.warmup(self, arguments, options)

    def run(self, *arguments, grid, warmup, **options):
        machine.slow_launches.append((self.__name__, grid, arguments, options))

    monkeypatch.setattr(runtime, "INTERPRETING", False)
    monkeypatch.setattr(runtime.Op, "_runs_reference", lambda *arguments: False)
    monkeypatch.setattr(triton.runtime, "driver", SimpleNamespace(active=active))
    monkeypatch.setattr(runtime, "_current_device", lambda: None)
    monkeypatch.setattr(torch.cuda, "device", nullcontext)
    monkeypatch.setattr(InterpretedFunction, "warmup", warmup)
    monkeypatch.setattr(InterpretedFunction, "run", run)
    return machine


def test_a_second_call_only_launches(machine, sample):
    rmsnorm = sample("rmsnorm").rmsnorm
    x, weight = torch.randn(4, 8), torch.randn(8)
    first, second = rmsnorm(x, weight, 1e-6), rmsnorm(x, weight, 1e-3)
    assert len(machine.compiled) == 1
    name, arguments, options = machine.compiled[0]
    assert name == "_rmsnorm_block"
    assert arguments[0] is x
    assert options.pop("INT").name == "int32"
    assert options.pop("FLOAT").name == "fp32"
    assert options == {
        "BLOCK_M": 512, "BLOCK_N": 8, "num_warps": 4, "enable_fp_fusion": True
    }  # fmt: skip
    sizes_and_strides = (4, 1, 4, 8, 0, 0, 8, 1, 1, 0, 0, 8, 1)
    for (number, launched), y, eps in zip(
        machine.launches, (first, second), (1e-6, 1e-3), strict=True
    ):
        assert number == 1
        assert launched[:3] == (x.data_ptr(), weight.data_ptr(), y.data_ptr())
        assert launched[3:17] == (*sizes_and_strides, eps)
        assert launched[17:19] == (512, 8)
        assert len(launched) == 21


def test_out_is_written_and_not_allocated(machine, sample):
    rmsnorm = sample("rmsnorm").rmsnorm
    x, weight, out = torch.randn(4, 8), torch.randn(8), torch.empty(4, 8)
    for _ in range(2):
        assert rmsnorm(x, weight, out=out) is out
    assert {launched[2] for _, launched in machine.launches} == {out.data_ptr()}


def test_kernels_share_workspaces_and_absent_tensors_are_none(machine, sample):
    grouped = sample("grouped").grouped
    x = torch.randn(4, 8)
    for _ in range(2):
        machine.launches.clear()
        y, total = grouped(x, None, groups=2)
        (_, map_arguments), (_, finish_arguments) = machine.launches
        assert map_arguments[:2] == (x.data_ptr(), None)
        assert map_arguments[2] == finish_arguments[0]
        assert finish_arguments[1:3] == (y.data_ptr(), total.data_ptr())


def test_integers_compile_once_per_specialisation(machine, sample):
    grouped = sample("grouped").grouped
    x = torch.randn(4, 8)
    for seed, kernels in (
        (5, 2),
        (7, 2),
        (16, 4),
        (32, 4),
        (1, 6),
        (2**31, 8),
        (2**63, 10),
        (9, 10),
    ):
        grouped(x, None, seed=seed, groups=2)
        assert len(machine.compiled) == kernels, seed
        assert machine.launches[-2][1][10] == seed


def test_doubles_travel_as_bits_and_specialise(machine, sample, runtime):
    rmsnorm = sample("rmsnorm").rmsnorm
    x, weight = torch.randn(4, 8, dtype=torch.float64), torch.randn(8, dtype=torch.float64)
    for eps, kernels in ((1e-6, 1), (1e-5, 1), (0.0, 2), (1.0, 3), (2.0, 3)):
        rmsnorm(x, weight, eps)
        assert len(machine.compiled) == kernels
        bits = torch.tensor(eps, dtype=torch.float64).view(torch.int64).item()
        assert machine.launches[-1][1][16] == bits
    assert machine.compiled[0][2]["FLOAT"].name == "fp64"


def test_a_config_that_does_not_fit_is_replaced_by_the_next(machine, sample, runtime):
    rmsnorm = sample("rmsnorm").rmsnorm
    x, weight = torch.randn(4, 8), torch.randn(8)
    machine.refuses = lambda options: options["BLOCK_M"] == 512
    for _ in range(2):
        rmsnorm(x, weight)
        assert runtime.last_launch().config["TILE"] == 8192
    assert len(machine.compiled) == 1
    runtime.LAUNCHES.clear()
    machine.refuses = lambda options: True
    with pytest.raises(RuntimeError, match="no config fits this GPU"):
        rmsnorm(x, weight)


def test_launch_hooks_take_triton_s_own_way(machine, sample):
    rmsnorm = sample("rmsnorm").rmsnorm
    x, weight = torch.randn(4, 8), torch.randn(8)
    rmsnorm(x, weight)
    hook = triton.knobs.runtime.launch_enter_hook
    hook.add(listener := lambda metadata: None)
    try:
        y = rmsnorm(x, weight)
    finally:
        hook.remove(listener)
    ((name, grid, arguments, options),) = machine.slow_launches
    assert (name, grid) == ("_rmsnorm_block", (1, 1, 1))
    assert arguments[:3] == (x, weight, y)
    assert options["num_warps"] == 4
    rmsnorm(x, weight)
    assert len(machine.slow_launches) == 1
    assert len(machine.launches) == 2


def test_an_empty_grid_launches_nothing(machine, sample):
    rmsnorm = sample("rmsnorm").rmsnorm
    for _ in range(2):
        assert rmsnorm(torch.randn(0, 8), torch.randn(8)).shape == (0, 8)
    assert machine.compiled == machine.launches == []


def test_copies_are_made_in_every_call(machine, sample):
    vector_add = sample("vector_add").vector_add
    wide = torch.randn(3, 4, 3, 4, 3)
    x, y = wide[:2, :3, :2, :3, :2], torch.randn(2, 3, 2, 3, 2)
    with pytest.warns(UserWarning, match="x is copied"):
        vector_add(x, y)
    vector_add(x, y)
    assert len(machine.compiled) == 1
    for _, launched in machine.launches:
        assert launched[0] != x.data_ptr()
        assert launched[1] == y.data_ptr()


def test_autotune_measures_each_config_once_per_bucket(machine, sample, runtime, monkeypatch):
    vector_add = sample("vector_add")
    config = runtime.Config
    space = {("sm_80", 4): tuple(config(BLOCK=block, num_warps=4) for block in (64, 128, 256))}
    monkeypatch.setattr(vector_add, "FLAT_CONFIGS", space)
    timed = []

    def do_bench(function, return_mode):
        function()
        timed.append(machine.launches[-1][1][4])
        return {64: 3.0, 128: 2.0, 256: 1.0}[timed[-1]]

    monkeypatch.setattr(triton.testing, "do_bench", do_bench)
    x = torch.randn(100)
    assert vector_add.vector_add(x, x, autotune=True).shape == (100,)
    assert timed == [64, 128, 256]
    assert runtime.last_launch().config["BLOCK"] == 256
    vector_add.vector_add(torch.randn(99), torch.randn(99), autotune=True)
    assert (timed, runtime.last_launch().config["BLOCK"]) == ([64, 128, 256], 256)
    vector_add.vector_add(x, x)
    assert runtime.last_launch().config["BLOCK"] == 128  # what the cost says, whatever was timed
