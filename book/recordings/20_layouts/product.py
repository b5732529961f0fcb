"""A product of bfloat16 matrices in the CuTe DSL, by `mma.sync`: c = a @ w.T.

python product.py [--out FOLDER] writes the layouts to layouts.txt. With --cubins, it
writes the kernel, compiled for an H200 and matrices of n x n, for each n of SIZES.
Neither needs a GPU, but both need nvidia-cutlass-dsl with its libraries for CUDA 13.
"""

import argparse
import contextlib
import io
import json
import os
import re
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ["CUTE_DSL_ARCH"] = "sm_90a"
os.environ["CUTE_DSL_KEEP_CUBIN"] = "1"

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float32
from cutlass.cute.nvgpu import cpasync, warp

HERE = Path(__file__).resolve().parent
SIZES = 4096, 8192

# begin: layouts
BM, BN, BK, STAGES = 128, 128, 64, 2  # a block's tile of c, its step along k
WARPS, GROUP = (2, 2), 8
THREADS = 32 * WARPS[0] * WARPS[1]


def tiled_mma():
    """Each warp multiplies 16 x 8 x 16; twice along n, as ldmatrix loads 16 rows."""
    step = warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16))
    whole = 16 * WARPS[0], 16 * WARPS[1], 16
    return cute.make_tiled_mma(step, (*WARPS, 1), permutation_mnk=whole)


def tiled_copy():
    """Eight threads copy a row of 64 numbers to shared memory, 16 bytes each."""
    kind = cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL)
    piece = cute.make_copy_atom(kind, BFloat16, num_bits_per_copy=128)
    threads = cute.make_layout((THREADS // 8, 8), stride=(8, 1))
    return cute.make_tiled_copy_tv(piece, threads, cute.make_layout((1, 8)))


def shared(rows):
    """STAGES tiles of rows of 128 bytes, with chapter 20's swizzle."""
    plain = cute.make_layout((8, 64), stride=(64, 1))
    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, plain)
    return cute.tile_to_shape(swizzled, (rows, BK, STAGES), order=(0, 1, 2))


# end: layouts


# begin: kernel
@cute.kernel
def multiply(a, w, c, mma, copy, at_a, at_w):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    down, across = c.shape[0] // BM, c.shape[1] // BN
    row, j, group = cute.idx2crd(block, (GROUP, across, down // GROUP))
    i = group * GROUP + row

    # the block's tiles, and the thread's part of each copy
    memory = cutlass.memory.SmemAllocator()
    ring_a = memory.allocate_tensor(BFloat16, at_a, 1024)
    ring_w = memory.allocate_tensor(BFloat16, at_w, 1024)
    mine = copy.get_slice(thread)
    from_a = mine.partition_S(cute.local_tile(a, (BM, BK), (i, None)))
    from_w = mine.partition_S(cute.local_tile(w, (BN, BK), (j, None)))
    to_a, to_w = mine.partition_D(ring_a), mine.partition_D(ring_w)

    # the thread's fragments, and how ldmatrix fills those of a and w
    my = mma.get_slice(thread)
    out = my.partition_C(cute.local_tile(c, (BM, BN), (i, j)))
    sums = mma.make_fragment_C(out)
    of_a = mma.make_fragment_A(my.partition_A(ring_a[None, None, 0]))
    of_w = mma.make_fragment_B(my.partition_B(ring_w[None, None, 0]))
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), BFloat16)
    load_a, load_w = (
        cute.make_tiled_copy_A(load, mma),
        cute.make_tiled_copy_B(load, mma),
    )
    my_a, my_w = load_a.get_slice(thread), load_w.get_slice(thread)
    in_a, in_w = my_a.partition_S(ring_a), my_w.partition_S(ring_w)
    to_of_a, to_of_w = my_a.retile(of_a), my_w.retile(of_w)

    sums.fill(0.0)
    steps = a.shape[1] // BK
    for k in cutlass.range_constexpr(STAGES - 1):
        cute.copy(copy, from_a[None, None, None, k], to_a[None, None, None, k])
        cute.copy(copy, from_w[None, None, None, k], to_w[None, None, None, k])
        cute.arch.cp_async_commit_group()

    for k in range(steps):
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()
        ahead, now = k + STAGES - 1, k % STAGES
        if ahead < steps:
            to = ahead % STAGES
            cute.copy(copy, from_a[None, None, None, ahead], to_a[None, None, None, to])
            cute.copy(copy, from_w[None, None, None, ahead], to_w[None, None, None, to])
        cute.arch.cp_async_commit_group()
        for s in cutlass.range_constexpr(BK // 16):
            cute.copy(load_a, in_a[None, None, s, now], to_of_a[None, None, s])
            cute.copy(load_w, in_w[None, None, s, now], to_of_w[None, None, s])
            cute.gemm(mma, sums, of_a[None, None, s], of_w[None, None, s], sums)

    rounded = cute.make_fragment_like(sums, BFloat16)
    rounded.store(sums.load().to(BFloat16))
    cute.autovec_copy(rounded, out)


# end: kernel


@cute.jit
def product(a, w, c, stream):
    """Launch the kernel; sizes are multiples of the tile's, rows of tiles of GROUP."""
    blocks = c.shape[0] // BM * (c.shape[1] // BN)
    kernel = multiply(a, w, c, tiled_mma(), tiled_copy(), shared(BM), shared(BN))
    kernel.launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


@cute.jit
def layouts():
    """Print the layouts of an instruction, of all warps, and of a copy."""
    mma, copy = tiled_mma(), tiled_copy()
    print("mma.sync, (thread, value) to row + rows * column")
    print("  a, 16 x 16       ", mma.tv_layout_A)
    print("  w, 8 x 16        ", mma.tv_layout_B)
    print("  c, 16 x 8        ", mma.tv_layout_C)
    tile = cute.make_layout((16, 8), stride=(8, 1))
    print("  (16,8):(8,1) o c ", cute.composition(tile, mma.tv_layout_C))
    print()
    print("four warps, 32 x 32: (thread, value) to row + 32 * column")
    print("  c                ", mma.tv_layout_C_tiled)
    print()
    print("a copy of 16 x 64: (thread, value) to row + 16 * column")
    print("  copy             ", copy.layout_tv_tiled)
    print()
    print("a ring of tiles in shared memory")
    print(f"  128 x 64 x {STAGES}     ", shared(BM))


def printed() -> str:
    """Return what `layouts` prints."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        layouts()
    return text.getvalue()


def compiled(n: int) -> tuple[bytes, dict[str, Any]]:
    """Return the kernel for n x n matrices: machine code, and how to launch it."""
    from cuda.bindings import driver
    from cutlass.cute.runtime import make_fake_compact_tensor

    def matrix() -> Any:
        return make_fake_compact_tensor(
            BFloat16, (n, n), stride_order=(1, 0), assumed_align=16
        )

    made = cute.compile(product, matrix(), matrix(), matrix(), driver.CUstream(0))
    (name,) = set(re.findall(rb"\0\.text\.(\w+)", made.__cubin__))
    return made.__cubin__, {
        "name": name.decode(),
        "blocks": n // BM * (n // BN),
        "threads": THREADS,
        "shared": 2 * STAGES * (BM + BN) * BK,
    }


def version() -> str:
    """Return the version of the DSL, a line of a recording."""
    return f"# nvidia-cutlass-dsl {metadata.version('nvidia-cutlass-dsl')}\n"


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    options.add_argument("--cubins", action="store_true")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.cubins:
        about: dict[str, Any] = {"version": version()}
        for size in SIZES:
            code, about[str(size)] = compiled(size)
            (given.out / f"{size}.cubin").write_bytes(code)
        (given.out / "about.json").write_text(json.dumps(about), encoding="utf-8")
    else:
        text = f"$ python3 product.py\n{version()}\n{printed()}"
        (given.out / "layouts.txt").write_text(text, encoding="utf-8")
