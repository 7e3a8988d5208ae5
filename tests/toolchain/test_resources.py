"""Reading of PTX, of ptxas logs and of AMD metadata."""

import pytest

from tilegen.toolchain.resources import Usage, amd_usage, ptx_statistics, ptxas_usage

PTX = """
.visible .entry kernel(.param .u64 .ptr .global .align 1 kernel_param_0)
{
	.reg .b32 	%r<40>;
	@%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
	@!%p1 ld.global.L1::evict_last.L2::cache_hint.v8.b32 {%r1}, [ %rd1 + 0 ], %rd9;
	ld.global.nc.v2.b64 {%rd1, %rd2}, [%rd3];
	ld.global.b16 	%rs1, [%rd1]; // ld.global.v4.b32 in a comment
	@%p1 st.global.v2.b32 [ %rd1 + 0 ], { %r1, %r2 };
	st.global.v4.b32 [ %rd1 + 0 ], { %r1, %r2, %r3, %r4 };
	ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%r9];
	st.local.b32 [%r1], %r2;
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1}, {%r1}, {%r2}, {%f1};
	wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0;
	wgmma.fence.sync.aligned;
	cp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x10, %r2;
	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier [%r1], [%rd1, {%r2, %r3}], [%r4];
	cp.async.commit_group;
	cp.async.wait_group 0x0;
	fma.rn.f64 %fd1, %fd2, %fd3, %fd4;
	cvt.f32.f64 %f1, %fd1;
	add.f32 %f1, %f2, %f3;
}
"""


def test_ptx_statistics_count_what_matters():
    assert ptx_statistics(PTX) == {
        "wide_loads": 3, "narrow_loads": 1, "wide_stores": 1, "narrow_stores": 1,
        "mma": 2, "async_copies": 2, "f64": 2, "local": 1,
    }  # fmt: skip


def test_the_ptxas_log_tells_registers_and_spills():
    log = """ptxas info    : Compiling entry function 'kernel' for 'sm_90a'
ptxas info    : Function properties for kernel
    40 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 8 bytes smem, 424 bytes cmem[0]
"""
    assert ptxas_usage(log, 512) == Usage(shared=512, registers=255, spill=24)
    with pytest.raises(RuntimeError, match="no registers"):
        ptxas_usage("nothing", 0)


def test_amd_metadata_tells_registers_and_spills():
    text = """
    .sgpr_count:     22
    .sgpr_spill_count: 2
    .vgpr_count:     128
    .vgpr_spill_count: 6
"""
    assert amd_usage(text, 64) == Usage(shared=64, registers=128, spill=32)
    with pytest.raises(RuntimeError, match="vgpr_spill_count"):
        amd_usage(".vgpr_count: 1", 0)
