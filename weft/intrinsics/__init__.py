"""Operations that Numba lacks, such as wide accesses and asynchronous copies.

A thread that reads `x[i], x[i + 1], x[i + 2], x[i + 3]` issues four 32-bit loads.
`load4(x, i)` issues one of 128 bits: a quarter of the instructions and of the
requests for the same bytes. The address must be a multiple of 16 bytes, so `i`
must be a multiple of 4 and the array must begin on such an address. Every array
that PyTorch or Numba allocates does, but a slice such as `x[1:]` does not. An array
that the kernel makes does if it is declared with `alignment=16`, or is the only shared
array. The elements are float32, int32 or uint32.

On a GPU these functions are Numba intrinsics (LLVM `load <4 x float>, align 16`,
which becomes PTX `ld.global.v4`). In the simulator they are plain Python twins, which
also refuse an index that is not aligned.

`load4_cs`, `store4_cs` and `load4_nc` are the same accesses with a hint to the caches,
for global memory alone: `_cs` marks data that is likely to be accessed once, so that
it is the first to be evicted; `_nc` data that is read-only for as long as the kernel
runs. A hint changes no result.

`peek(x, i)` and `poke(x, i, value)` are a load and a store of one 4- or 8-byte number
in global memory that another block may store or load at the same time. The number is
never torn, and a loop around `peek` loads it again each time, which a loop around
`x[i]` need not. Neither orders other accesses: put
`cuda.threadfence()` before the `poke` and after the `peek` where other data goes with
the number.

`bf16_pair`, `bf16_low`, `bf16_high` and `bf16_max` work on an int32 that holds two
bfloat16 (compute capability 8.0 or higher), `f16_low` and `f16_high` on one that holds
two float16. `exp2(x)` is 2 to the power of a float32 in
one instruction. `mul_wide(a, b)` is all 64 bits of the product of two uint32.

`copy_async(tile, i, x, j, inside)` and `copy4_async` start a copy of one element, or of
four, from global memory to shared memory, bypassing the registers. `commit_group()`
makes a group of the copies that the thread has started since the last group;
`wait_group(n)` waits until all but the thread's last n groups have arrived. It does not
wait for the copies of other threads, so a barrier has to follow before other threads
read the elements. Until then no thread may access them. These operations require
compute capability 8.0 or higher.

`mbarrier_init`, `mbarrier_arrive`, `mbarrier_arrive_expect_tx` and `mbarrier_wait` are
barriers that count threads and bytes, in a shared array of uint64. `bulk_copy` starts a
copy by the TMA, whose bytes are counted at one of them. `weft.intrinsics.hopper` has
the other operations that require compute capability 9.0, such as `tma_load`,
`wgmma_bf16` and `cluster_sync`.

Each operation is one entry of `weft.intrinsics.registry`.
"""

from collections.abc import Callable
from typing import Any

from weft.intrinsics import registry
from weft.intrinsics.arithmetic import (
    bf16_high,
    bf16_low,
    bf16_max,
    bf16_pair,
    exp2,
    f16_high,
    f16_low,
    mul_wide,
)
from weft.intrinsics.copies import commit_group, copy4_async, copy_async, wait_group
from weft.intrinsics.hopper import (
    bulk_commit,
    bulk_wait,
    bulk_wait_read,
    cluster_arrive,
    cluster_arrive_relaxed,
    cluster_atomic_add,
    cluster_atomic_add_int32,
    cluster_load,
    cluster_rank,
    cluster_size,
    cluster_store,
    cluster_sync,
    cluster_wait,
    descriptor,
    descriptor_columns,
    fence_async,
    fence_tensor_map,
    griddep_launch,
    griddep_wait,
    hold,
    hold_words,
    mbarrier_arrive_at,
    named_barrier,
    setmaxnreg_dec,
    setmaxnreg_inc,
    stmatrix_x2_trans,
    stmatrix_x4,
    tma_load,
    tma_load_multicast,
    tma_load_plane,
    tma_store,
    tma_store_plane,
    wgmma_bf16,
    wgmma_bf16_chained,
    wgmma_commit,
    wgmma_e4m3,
    wgmma_fence,
    wgmma_wait,
)
from weft.intrinsics.matrices import (
    as_matrix,
    ldmatrix_x1,
    ldmatrix_x1_trans,
    ldmatrix_x2,
    ldmatrix_x2_trans,
    ldmatrix_x4,
    ldmatrix_x4_trans,
)
from weft.intrinsics.mbarriers import (
    bulk_copy,
    fence_mbarrier_init,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
)
from weft.intrinsics.tensor_cores import (
    f16_pair,
    mma_bf16,
    mma_e4m3,
    mma_f16,
    mma_f16_acc16,
    mma_f16_k8,
    mma_tf32,
    tf32,
)
from weft.intrinsics.wide import (
    load4,
    load4_cs,
    load4_nc,
    peek,
    poke,
    store4,
    store4_cs,
)

__all__ = [
    "TWIN",
    "as_matrix",
    "bf16_high",
    "bf16_low",
    "bf16_max",
    "bf16_pair",
    "bulk_commit",
    "bulk_copy",
    "bulk_wait",
    "bulk_wait_read",
    "cluster_arrive",
    "cluster_arrive_relaxed",
    "cluster_atomic_add",
    "cluster_atomic_add_int32",
    "cluster_load",
    "cluster_rank",
    "cluster_size",
    "cluster_store",
    "cluster_sync",
    "cluster_wait",
    "commit_group",
    "copy4_async",
    "copy_async",
    "descriptor",
    "descriptor_columns",
    "exp2",
    "f16_high",
    "f16_low",
    "f16_pair",
    "fence_async",
    "fence_mbarrier_init",
    "fence_tensor_map",
    "griddep_launch",
    "griddep_wait",
    "hold",
    "hold_words",
    "ldmatrix_x1",
    "ldmatrix_x1_trans",
    "ldmatrix_x2",
    "ldmatrix_x2_trans",
    "ldmatrix_x4",
    "ldmatrix_x4_trans",
    "load4",
    "load4_cs",
    "load4_nc",
    "mbarrier_arrive",
    "mbarrier_arrive_at",
    "mbarrier_arrive_expect_tx",
    "mbarrier_init",
    "mbarrier_wait",
    "mma_bf16",
    "mma_e4m3",
    "mma_f16",
    "mma_f16_acc16",
    "mma_f16_k8",
    "mma_tf32",
    "mul_wide",
    "named_barrier",
    "peek",
    "poke",
    "setmaxnreg_dec",
    "setmaxnreg_inc",
    "stmatrix_x2_trans",
    "stmatrix_x4",
    "store4",
    "store4_cs",
    "tf32",
    "tma_load",
    "tma_load_multicast",
    "tma_load_plane",
    "tma_store",
    "tma_store_plane",
    "wait_group",
    "wgmma_bf16",
    "wgmma_bf16_chained",
    "wgmma_commit",
    "wgmma_e4m3",
    "wgmma_fence",
    "wgmma_wait",
]

# By name: the function that Python calls outside a kernel.
TWIN: dict[str, Callable[..., Any]] = {
    operation.name: operation.on_host for operation in registry.operations()
}
