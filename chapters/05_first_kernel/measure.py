"""The measurements of chapter 5. Each function times, and returns a table.

The vectors are PyTorch tensors on the GPU. Numba accepts them as they are, but it would
inspect them at every launch; `cuda.as_cuda_array` does that once and for all. Without a
GPU, the tables show what the reference GPU measured.
"""

import numpy as np
from numba import cuda

import weft
from weft import bench

CUDA_CPP = """
extern "C" __global__
void vector_add(const float* a, const float* b, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = a[i] + b[i];
}
"""

n = 1 << 26 if weft.GPU else 1 << 10
threads = 256
blocks = -(-n // threads)

has_triton = weft.device.find().capability >= (8, 0)

if weft.GPU:
    import torch

    a = torch.rand(n, device="cuda")
    b = torch.rand(n, device="cuda")
    out = torch.empty_like(a)
    d_a, d_b, d_out = (cuda.as_cuda_array(t) for t in (a, b, out))

    import cuda.core as core

    if not hasattr(core, "Program"):  # older versions keep it elsewhere
        import cuda.core.experimental as core

    gpu = core.Device()
    gpu.set_current()
    stream = gpu.default_stream

    options = core.ProgramOptions(arch=weft.device.find().sm)  # sm_90, say
    program = core.Program(CUDA_CPP, code_type="c++", options=options)
    cpp_kernel = program.compile("cubin").get_kernel("vector_add")
    config = core.LaunchConfig(grid=blocks, block=threads)

    def cpp_add():
        pointers = a.data_ptr(), b.data_ptr(), out.data_ptr()
        core.launch(stream, config, cpp_kernel, *pointers, np.int32(n))

    cpp_add()
    assert torch.equal(out, a + b)

    if weft.on_gpu("Triton's machine code needs one") and has_triton:
        import triton
        import triton.language as tl

        @triton.jit
        def triton_kernel(a, b, out, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            live = i < n

            total = tl.load(a + i, mask=live) + tl.load(b + i, mask=live)
            tl.store(out + i, total, mask=live)

        def triton_add(count=n):
            grid = (triton.cdiv(count, 1024),)
            triton_kernel[grid](a, b, out, count, BLOCK=1024)

        out.zero_()
        triton_add()
        assert torch.equal(out, a + b)


def large(vector_add, guess=None):
    """Compare the learner's kernel with those in other languages, and with a copy."""

    def languages():
        # Reading and writing 3n/2 elements moves 12 n bytes, as the addition does.
        source = torch.rand(3 * n // 2, device="cuda")
        target = torch.empty_like(source)
        rows = {
            "copy": lambda: target.copy_(source),
            "torch.add": lambda: torch.add(a, b, out=out),
            "Numba": lambda: vector_add[blocks, threads](d_a, d_b, d_out),
            "CUDA C++": lambda: cpp_add(),
        }
        if has_triton:
            rows["Triton"] = lambda: triton_add()
        return rows

    return bench.compare(
        "2^26 float32",
        languages,
        baseline="torch.add",
        bytes=3 * 4 * n,
        ceiling="copy",
        guess=guess,
    )


def one(vector_add, guess=None):
    """Launch the learner's kernel on fewer and fewer elements."""

    def sizes():
        def add(count):
            x, y, z = d_a[:count], d_b[:count], d_out[:count]
            grid = -(-count // threads)
            return lambda: vector_add[grid, threads](x, y, z)

        return {f"2^{k}": add(1 << k) for k in (26, 22, 18, 14, 10)}

    return bench.compare("one launch", sizes, baseline="2^26", guess=guess)


def many(vector_add, guess=None):
    """Launch kernels on 1024 elements, one launch after the other."""

    def small_ones():
        few = 1 << 10
        x, y, z = a[:few], b[:few], out[:few]
        d_x, d_y, d_z = (cuda.as_cuda_array(t) for t in (x, y, z))
        small = core.LaunchConfig(grid=few // threads, block=threads)
        pointers = x.data_ptr(), y.data_ptr(), z.data_ptr(), np.int32(few)
        rows = {
            "torch.add": lambda: torch.add(x, y, out=z),
            "Numba": lambda: vector_add[few // threads, threads](d_x, d_y, d_z),
            "CUDA C++": lambda: core.launch(stream, small, cpp_kernel, *pointers),
        }
        if has_triton:
            rows["Triton"] = lambda: triton_add(few)
        return rows

    return bench.compare(
        "2^10 float32 in a loop",
        small_ones,
        baseline="torch.add",
        guess=guess,
        host=True,
    )


def grouped(vector_add, guess=None):
    """Launch the learner's kernel in blocks of 1 to 1024 threads."""

    def groupings():
        def add(size):
            return lambda: vector_add[-(-n // size), size](d_a, d_b, d_out)

        return {str(size): add(size) for size in (1, 32, 64, 128, 256, 512, 1024)}

    return bench.compare(
        "threads per block", groupings, baseline="256", bytes=3 * 4 * n, guess=guess
    )


def filled(saxpy, guess=None):
    """Launch the learner's loop with 1 block and with more."""

    def fillings():
        alpha = np.float32(2.5)
        sms = weft.device.find().sms

        def add(count):
            return lambda: saxpy[count, 256](alpha, d_a, d_out)

        return {
            "1 block": add(1),
            "1 per SM": add(sms),
            "8 per SM": add(8 * sms),
            "n / 256": add(blocks),
        }

    return bench.compare(
        "grid-stride saxpy",
        fillings,
        baseline="n / 256",
        bytes=3 * 4 * n,
        guess=guess,
    )
