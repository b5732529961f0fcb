"""The measurements of chapter 8. Each function times, and returns a table."""

import numpy as np
from numba import cuda

import weft
from weft import bench

from .kernels import (
    CLUSTER_CPP,
    compiled,
    filter_by_blocks,
    filter_by_threads,
    filter_by_warps,
    four_sum,
    row_sum,
    shared_sum,
    source,
    sum_by_blocks,
    sum_by_threads,
    sum_by_warps,
    two_sides,
    wait_block,
    wait_grid,
    wait_warp,
)

threads = 1 << 22
launch = threads // 256, 256
has_clusters = weft.device.find().capability >= (9, 0)


def runner(each=16):
    """Return a function that makes a candidate of a kernel with branches."""
    import torch

    number = torch.arange(threads, dtype=torch.int32, device="cuda")
    d_out = cuda.as_cuda_array(torch.empty(threads, device="cuda"))
    rounds = 1024 // each

    def run(paths, which):
        kernel = compiled(source(paths, each))
        d_which = cuda.as_cuda_array(which.int())
        return lambda: kernel[launch](d_which, rounds, d_out)

    return run, number


def ways():
    run, number = runner()
    rows = {"1 path": run(1, number * 0)}
    for paths in (2, 4, 8, 16, 32):
        rows[f"{paths} paths"] = run(paths, number % 32 % paths)
    for paths in (8, 32):
        rows[f"{paths}, a warp each"] = run(paths, number // 32 % paths)
    return rows


def paths(guess=None):
    """Let the lanes of a warp take more and more paths."""
    return bench.compare("paths in a warp", ways, baseline="1 path", guess=guess)


def small_code():
    run, number = runner(each=1)
    return {
        "1 path": run(1, number * 0),
        "32, a warp each": run(32, number // 32 % 32),
        "32 paths": run(32, number % 32),
    }


def small():
    """Let them take paths of little code."""
    return bench.compare("paths in a warp, short code", small_code, baseline="1 path")


def long_ways():
    run, number = runner(each=1)
    warp = number // 32

    def taken_by(who):  # branch 0 is the long one; 1 is none at all
        return run(1, ~who)

    return {
        "every lane": taken_by(number >= 0),
        "a lane of each warp": taken_by(number % 32 == 0),
        "a warp of 32": taken_by(warp % 32 == warp // 32 % 32),
        "nobody": taken_by(number < 0),
    }


def one(guess=None):
    """Let some of the lanes take a long path."""
    return bench.compare(
        "who takes the long way", long_ways, baseline="every lane", guess=guess
    )


def sides():
    import torch

    lanes = torch.randint(-(2**31), 2**31, (threads,), device="cuda").int()
    warps = lanes[::32].repeat_interleave(32)
    result = torch.empty(threads, device="cuda")
    d_out = cuda.as_cuda_array(result)

    def run(count, keys):
        kernel = compiled(two_sides(count))
        d_keys = cuda.as_cuda_array(keys)
        return lambda: kernel[launch](d_keys, d_out)

    rows = {}
    for count in (1, 4, 8, 16, 64):
        rows[f"{count} together"] = run(count, warps)
        rows[f"{count} apart"] = run(count, lanes)
    return rows


def short(guess=None):
    """Run ifs with short sides."""
    return bench.compare("sides of an if", sides, baseline="1 together", guess=guess)


def parity(obvious, even_odd, guess=None):
    """Treat even and odd samples, in the obvious way and in the learner's."""

    def parities():
        import torch

        n = 1 << 24
        x = torch.rand(n, device="cuda")
        table = torch.rand(64, device="cuda") / 2
        out = torch.empty_like(x)
        d_x, d_table, d_out = (cuda.as_cuda_array(t) for t in (x, table, out))
        grid = n // 128, 128
        return {
            "obvious": lambda: obvious[grid](d_x, d_table, d_out),
            "even_odd": lambda: even_odd[grid](d_x, d_table, d_out),
        }

    return bench.compare(
        "even and odd samples", parities, baseline="obvious", guess=guess
    )


def summed(warp_sum, guess=None):
    """Add up rows of 32: the learner's kernel beside others. Return the builder too."""

    def sums():
        import torch

        n = 1 << 26
        x = torch.rand(n, device="cuda")
        out = torch.empty(n // 32, device="cuda")
        half = torch.empty(n // 2 + n // 64, device="cuda")
        same = torch.empty_like(half)
        d_x, d_out = cuda.as_cuda_array(x), cuda.as_cuda_array(out)
        rows = x.view(-1, 32)
        return {
            "copy": lambda: same.copy_(half),
            "torch": lambda: torch.sum(rows, 1, out=out),
            "row_sum": lambda: row_sum[n // 32 // 256, 256](d_x, d_out),
            "shared_sum": lambda: shared_sum[n // 256, 256](d_x, d_out),
            "warp_sum": lambda: warp_sum[n // 256, 256](d_x, d_out),
        }

    summed = bench.compare(
        "2^21 rows of 32 float32",
        sums,
        baseline="torch",
        bytes=4 * (2**26 + 2**21),
        ceiling="copy",
        guess=guess,
    )
    return summed, sums


def fours(sums):
    """Add up rows of 32 with four elements per lane, beside what `summed` builds."""

    def four_sums():
        import torch

        rows = sums()
        x = torch.rand(1 << 26, device="cuda")
        out = torch.empty(1 << 21, device="cuda")
        d_x, d_out = cuda.as_cuda_array(x), cuda.as_cuda_array(out)
        grid = (1 << 24) // 256, 256
        four_sum[grid](d_x, d_out)
        torch.testing.assert_close(out, x.view(-1, 32).sum(1))
        return {
            "copy": rows["copy"],
            "warp_sum": rows["warp_sum"],
            "four_sum": lambda: four_sum[grid](d_x, d_out),
        }

    return bench.compare(
        "four elements a lane",
        four_sums,
        baseline="warp_sum",
        bytes=4 * (2**26 + 2**21),
        ceiling="copy",
    )


def totals():
    """Check two of the sums, and return all ways."""
    import torch

    n = 1 << 26
    x = torch.rand(n, device="cuda")
    out = torch.zeros(1, device="cuda")
    d_x, d_out = cuda.as_cuda_array(x), cuda.as_cuda_array(out)
    grid = n // 256, 256

    def run(kernel):
        out.zero_()
        kernel[grid](d_x, d_out)

    for kernel in (sum_by_warps, sum_by_blocks):
        run(kernel)
        assert abs(out.item() / x.double().sum().item() - 1) < 1e-3

    return {
        "torch.sum": lambda: x.sum(),
        "one atomic per thread": lambda: run(sum_by_threads),
        "one atomic per warp": lambda: run(sum_by_warps),
        "one atomic per block": lambda: run(sum_by_blocks),
    }


def total():
    """Add up an array with an atomic addition per thread, warp or block."""
    return bench.compare(
        "the sum of 2^26 float32", totals, baseline="torch.sum", bytes=4 * 2**26
    )


def filters():
    """Check the filters, and return all ways."""
    import torch

    n = 1 << 26
    x = torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    count = torch.zeros(1, dtype=torch.int32, device="cuda")
    half = torch.empty(3 * n // 4, device="cuda")
    same = torch.empty_like(half)
    d_x, d_out, d_count = (cuda.as_cuda_array(t) for t in (x, out, count))
    grid = n // 256, 256

    def run(kernel):
        count.zero_()
        kernel[grid](d_x, d_out, d_count)

    wanted = x[x > 0].sort().values
    for kernel in (filter_by_threads, filter_by_warps, filter_by_blocks):
        run(kernel)
        assert count.item() == wanted.numel()
        assert torch.equal(out[: wanted.numel()].sort().values, wanted)

    return {
        "copy": lambda: same.copy_(half),
        "torch": lambda: x[x > 0],
        "one atomic per thread": lambda: run(filter_by_threads),
        "one atomic per warp": lambda: run(filter_by_warps),
        "one atomic per block": lambda: run(filter_by_blocks),
    }


def filtered():
    """Filter an array with an atomic addition per thread, warp or block."""
    return bench.compare(
        "the positive of 2^26 float32",
        filters,
        baseline="torch",
        bytes=6 * 2**26,
        ceiling="copy",
    )


def scopes(guess=None):
    """Wait at barriers, and let clusters exchange numbers."""

    if weft.on_gpu("clusters are made of hardware") and has_clusters:
        import cuda.core as core
        import torch

        if not hasattr(core, "Program"):  # older versions keep it elsewhere
            import cuda.core.experimental as core

        gpu = core.Device()
        gpu.set_current()
        stream = gpu.default_stream
        options = core.ProgramOptions(arch=weft.device.find().sm)
        program = core.Program(CLUSTER_CPP, code_type="c++", options=options)
        module = program.compile("cubin")
        next_block = module.get_kernel("next_block")
        wait_often = module.get_kernel("wait_often")

        neighbours = torch.full((128,), -1.0, device="cuda")
        clustered = core.LaunchConfig(grid=16, cluster=8, block=256)
        core.launch(stream, clustered, next_block, neighbours.data_ptr())
        print("what blocks 0 to 15 read:", neighbours[:16].int().tolist())

    def waits():
        rows = {
            "syncwarp": lambda: wait_warp[128, 256](),
            "syncthreads": lambda: wait_block[128, 256](),
            "grid.sync": lambda: wait_grid[128, 256](),
        }
        if has_clusters:
            often = np.int32(1000)
            rows["cluster"] = lambda: core.launch(stream, clustered, wait_often, often)
        return rows

    return bench.compare("1000 barriers", waits, baseline="grid.sync", guess=guess)
