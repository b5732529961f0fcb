"""The measurements of chapter 12. Each function times, and returns a table.

On a GPU, importing this module allocates 5 GiB, from which all measurements take
their arrays. Without one, the tables show what the reference GPU measured.
"""

import numpy as np
from numba import cuda, float32

import weft
from weft import bench
from weft.intrinsics import load4, load4_cs, store4, store4_cs

from .kernels import (
    CUDA_CPP,
    TABLE,
    chain,
    chase_shared,
    copy4_cs,
    copy4_nc,
    four_each,
    four_in_turn,
    gather,
    gather_pieces,
    gather_rows4,
    lookups,
    move_column,
    move_struct,
    neighbours,
    one_each,
    past_table,
    read_all,
    read_anew,
    read_anew_4,
    read_own,
    read_own_4,
    read_registers,
    read_shared,
    shifted_read,
    strided_read,
    strided_write,
)

STRIDES = (1, 2, 4, 8, 16, 32)
LOADS = 1_000_000
SPANS = {"16 KB": 1 << 14, "192 KB": 3 << 16, "1 MB": 1 << 20}
SPANS |= {"16 MB": 1 << 24, "32 MB": 1 << 25, "64 MB": 1 << 26}
SPANS |= {"256 MB": 1 << 28, "2 GB": 1 << 31}

few = 1 << 25  # elements read and written; at stride 32 they span 4 GiB
grid = few // 1024, 256
n = 1 << 28
laps = 1800  # of 64 bytes per thread, or 32 multiply-adds in 6 of them
sms = weft.device.find().sms or 132
full = 2 * sms, 1024  # two blocks of 1024 threads fill an SM

if weft.GPU:
    import torch

    big = torch.rand(1 << 30, device="cuda")
    large = torch.empty(1 << 28, device="cuda")  # a quarter of that
    small = large[:few]
    d_big, d_large, d_small = (
        cuda.as_cuda_array(t) for t in (big, large, small)
    )
    d_part = cuda.as_cuda_array(big[:n])


def strides(guess=None):
    """Read with a stride, beside a copy."""
    return bench.compare(
        "read with a stride",
        lambda: {"copy": lambda: small.copy_(big[:few])}
        | {
            f"stride {s}": lambda s=s: strided_read[grid](d_big, s, d_small)
            for s in STRIDES
        },
        baseline="copy",
        guess=guess,
    )


def fetching(size):
    """Set how many bytes L2 fetches at a time, in this program."""
    if weft.GPU:
        from cuda.bindings import runtime

        limit = runtime.cudaLimit.cudaLimitMaxL2FetchGranularity
        runtime.cudaDeviceSetLimit(limit, size)


def fetches():
    """Read with a stride, for three settings of L2; return a table for each."""
    fetches = {}
    for size in (32, 64, 128):
        fetching(size)
        fetches[size] = bench.compare(
            f"L2 fetches {size} bytes",
            lambda: {
                f"stride {s}": lambda s=s: strided_read[grid](d_big, s, d_small)
                for s in (8, 16, 32)
            },
            baseline="stride 8",
        )
    fetching(64)
    return fetches


def shifts():
    """Read from places that begin beside a boundary."""
    return bench.compare(
        "read with an offset",
        lambda: {
            f"offset {k}": lambda k=k: shifted_read[grid](d_big, k, d_small)
            for k in (0, 1, 8)
        },
        baseline="offset 0",
    )


def strided_writes(guess=None):
    """Write with a stride, beside a copy."""
    return bench.compare(
        "write with a stride",
        lambda: {"copy": lambda: small.copy_(big[:few])}
        | {
            f"stride {s}": lambda s=s: strided_write[grid](d_small, s, d_big)
            for s in STRIDES
        },
        baseline="copy",
        guess=guess,
    )


def copies(copy4, guess=None):
    """Copy 1 GiB with the learner's kernel, with four others, and with PyTorch."""
    if weft.GPU:
        import cuda.core as core

        if not hasattr(core, "Program"):  # older versions have it elsewhere
            import cuda.core.experimental as core

        gpu = core.Device()
        gpu.set_current()
        stream = gpu.default_stream
        options = core.ProgramOptions(arch=weft.device.find().sm)  # sm_90, say
        program = core.Program(CUDA_CPP, code_type="c++", options=options)
        cpp_kernel = program.compile("cubin").get_kernel("copy4")
        config = core.LaunchConfig(grid=n // 512, block=128)

    def cpp_copy4():
        pointers = big.data_ptr(), large.data_ptr()
        core.launch(stream, config, cpp_kernel, *pointers, np.int64(n))

    return bench.compare(
        "2^28 float32",
        lambda: {
            "copy_": lambda: large.copy_(big[:n]),
            "neighbours": lambda: neighbours[n // 2048, 256](d_part, d_large),
            "one each": lambda: one_each[n // 256, 256](d_part, d_large),
            "four in turn": lambda: four_in_turn[n // 1024, 256](d_part, d_large),
            "four each": lambda: four_each[n // 1024, 256](d_part, d_large),
            "copy4": lambda: copy4[n // 512, 128](d_part, d_large),
            "CUDA C++": lambda: cpp_copy4(),
        },
        baseline="copy_",
        bytes=2 * 4 * n,
        ceiling="copy_",
        guess=guess,
    )


def hints(copy4, guess=None):
    """Copy 1 GiB with cache hints."""
    return bench.compare(
        "2^28 float32, with a hint",
        lambda: {
            "copy_": lambda: large.copy_(big[:n]),
            "no hint": lambda: copy4[n // 512, 128](d_part, d_large),
            "cs": lambda: copy4_cs[n // 512, 128](d_part, d_large),
            "nc": lambda: copy4_nc[n // 512, 128](d_part, d_large),
        },
        baseline="no hint",
        bytes=2 * 4 * n,
        ceiling="copy_",
        guess=guess,
    )


def streams():
    table = cuda.as_cuda_array(big[-(1 << 23) :])
    plain = past_table(load4, store4)
    streaming = past_table(load4_cs, store4_cs)
    return {
        "no hint": lambda: plain[n // 512, 128](d_part, table, d_large),
        "cs": lambda: streaming[n // 512, 128](d_part, table, d_large),
    }


def beside():
    """Stream 1 GiB past a table that is used again, with and without a hint."""
    return bench.compare(
        "2^28 float32 past a table of 32 MB", streams, baseline="no hint"
    )


def layouts():
    array = cuda.as_cuda_array
    columns = array(big[: 4 * few].view(4, few))
    four, eight = (array(big[: f * few].view(few, f)) for f in (4, 8))
    step = float32(0.5)
    return {
        "columns": lambda: move_column[grid](columns, step),
        "struct of 4": lambda: move_struct[grid](four, step),
        "struct of 8": lambda: move_struct[grid](eight, step),
    }


def fields(guess=None):
    """Change one field of many particles, as structs and as columns."""
    return bench.compare(
        "one field of 2^25 structs", layouts, baseline="columns", guess=guess
    )


def gathered(gather_rows, guess=None):
    """Gather in order, at random, and by rows with the learner's kernel."""

    def gathers():
        count, places = 1 << 25, 1 << 28
        array = cuda.as_cuda_array
        draw = torch.randint(
            places, (count,), dtype=torch.int32, device="cuda"
        )
        some = torch.arange(count, dtype=torch.int32, device="cuda")
        in_order, ordered, anywhere = map(
            array, (some, draw.sort()[0], draw)
        )
        rows = array(draw[: count // 32] // 32)
        table, x = array(big[:places].view(-1, 32)), array(big[:places])
        out = array(large[:count])
        out_rows = array(large[:count].view(-1, 32))
        run = gather[count // 1024, 256]
        return {
            "copy": lambda: large[:count].copy_(big[:count]),
            "in order": lambda: run(x, in_order, out),
            "sorted": lambda: run(x, ordered, out),
            "random": lambda: run(x, anywhere, out),
            "random rows": lambda: gather_rows[count // 256, 256](
                table, rows, out_rows
            ),
            "rows, wide": lambda: gather_rows4[count // 1024, 256](
                table, rows, out_rows
            ),
        }

    return bench.compare(
        "2^25 float32 out of 1 GiB", gathers, baseline="copy", guess=guess
    )


def random_places(places, count):
    """Return count random numbers below places, on the GPU."""
    some = torch.randint(places, (count,), dtype=torch.int32, device="cuda")
    return cuda.as_cuda_array(some)


def out_of_tables():
    sizes = {"16 MB": 22, "128 MB": 25, "1 GiB": 28, "4 GiB": 30}

    def rung(log):
        table = cuda.as_cuda_array(big[: 1 << log])
        places = random_places(1 << log, few)
        return lambda: gather[grid](table, places, d_small)

    return {name: rung(log) for name, log in sizes.items()}


def by_table():
    """Gather out of tables of several sizes."""
    return bench.compare("2^25 out of a table", out_of_tables, baseline="1 GiB")


def out_of_pieces():
    table = cuda.as_cuda_array(big[: 1 << 28])
    sizes = {"4 bytes": 0, "32 bytes": 3, "128 bytes": 5, "1 KB": 8}

    def rung(log):
        places = random_places(1 << 28 - log, few >> log)
        return lambda: gather_pieces[grid](table, places, log, d_small)

    return {name: rung(log) for name, log in sizes.items()}


def pieces():
    """Gather contiguous pieces of several lengths."""
    return bench.compare(
        "2^25 in pieces, out of 1 GiB", out_of_pieces, baseline="4 bytes"
    )


def latency(chase, guess=None):
    """Follow links with the learner's kernel through more and more memory."""

    def spans():
        words, first = big.view(torch.int32), 0
        end = cuda.device_array(1, np.uint32)
        rungs = {
            "registers": lambda: chain[1, 1](LOADS, float32(0.5), end),
            "shared memory": lambda: chase_shared[1, 1](LOADS, end),
        }
        for name, span in SPANS.items():
            part = words[first : first + span // 4]
            first += span // 4
            places = 32 * torch.randperm(span // 128, device="cuda")
            part[places] = places.roll(-1).int()
            link = cuda.as_cuda_array(part.view(torch.uint32))

            def rung(part=part, link=link, span=span):
                if span < 1 << 27:
                    part.sum()  # brings the links into L2
                chase[1, 1](link, LOADS, end)

            rungs[name] = rung
        return rungs

    return bench.compare(
        "a million loads, one after the other",
        spans,
        baseline="256 MB",
        guess=guess,
    )


def levels():
    sink = cuda.device_array(full[0] * full[1], np.float32)
    half_l2 = 1 << (weft.device.find().l2 // 4 // 4).bit_length() - 1
    near, far = (cuda.as_cuda_array(big[:k]) for k in (half_l2, 1 << 30))
    return {
        "registers": lambda: read_registers[full](laps, float32(0.5), sink),
        "shared memory": lambda: read_shared[full](laps, sink),
        "L1": lambda: read_own[full](d_big, laps, sink),
        "L2": lambda: read_all[full](near, laps, sink),
        "memory": lambda: read_all[full](far, laps, sink),
    }


def rates(guess=None):
    """Read each level of memory with all threads."""
    return bench.compare(
        "reading, by level",
        levels,
        baseline="memory",
        bytes=16 * 4 * laps * full[0] * full[1],
        guess=guess,
    )


def widths():
    sink = cuda.device_array(full[0] * full[1], np.float32)
    return {
        "16 bytes": lambda: read_own[full](d_big, laps, sink),
        "4 bytes": lambda: read_own_4[full](d_big, laps, sink),
        "16 bytes, new index": lambda: read_anew[full](d_big, laps, sink),
        "4 bytes, new index": lambda: read_anew_4[full](d_big, laps, sink),
    }


def width():
    """Read from L1 with narrow and with wide loads."""
    return bench.compare(
        "reading from L1, by width",
        widths,
        baseline="16 bytes",
        bytes=16 * 4 * laps * full[0] * full[1],
    )


def tables():
    count = 1 << 22
    sink, table = cuda.as_cuda_array(large[:count]), cuda.to_device(TABLE)
    rungs, run = {}, (count // 256, 256)
    for name, spread in (("same", 0), ("own", 1)):
        constant, plain, shared = lookups(spread)
        rungs |= {
            f"constant, {name}": lambda f=constant: f[run](sink),
            f"global, {name}": lambda f=plain: f[run](table, sink),
            f"shared, {name}": lambda f=shared: f[run](table, sink),
        }
    return rungs


def looked(guess=None):
    """Look up a table in constant, global and shared memory."""
    return bench.compare(
        "256 look-ups by 2^22 threads",
        tables,
        baseline="constant, same",
        guess=guess,
    )
