"""The measurements of chapter 25. Each function times, and returns a table."""

import torch

import weft
from weft import bench
from weft.libraries import cublas
from weft.libraries.cublas import ComputeType, Operation

from .ready import ONE, ZERO, Linear, Product

N, T = Operation.N, Operation.T
SIZE = 4096
BATCH, EDGE = 1000, 64


def products():
    torch.backends.cuda.matmul.allow_tf32 = False
    multiply = Product()
    with_tf32 = Product(ComputeType.COMPUTE_32F_FAST_TF32)
    single = [torch.randn(SIZE, SIZE, device="cuda") for _ in range(3)]
    half = [x.bfloat16() for x in single]
    spare = {x[0].dtype: [torch.empty_like(y) for y in x] for x in (single, half)}

    def copies(a, b, c):
        at, bt, ct = spare[a.dtype]
        at.copy_(a.t())
        bt.copy_(b.t())
        multiply(bt, at, ct)  # read by columns: A, B and C as they are
        c.copy_(ct.t())

    a, b, c = single
    return {
        "torch.mm": lambda: torch.mm(a, b, out=c),
        "no copies": lambda: multiply(*single),
        "copies": lambda: copies(*single),
        "tf32": lambda: with_tf32(*single),
        "bf16": lambda: multiply(*half),
        "bf16, copies": lambda: copies(*half),
    }


def speeds(guess=None):
    """Time products by copies, by exchanged operands, and of other types."""
    return bench.compare(
        "4096 x 4096 x 4096",
        products,
        baseline="torch.mm",
        flops=2 * SIZE**3,
        guess=guess,
        graph=True,
    )


def leading_dimensions():
    multiply = Product()

    def apart_by(width):
        whole = (torch.randn(SIZE, width, device="cuda") for _ in range(3))
        parts = [x.bfloat16()[:, :SIZE] for x in whole]
        return lambda: multiply(*parts)

    return {str(w): apart_by(w) for w in (4096, 4097, 4098, 4100, 4104)}


def apart(guess=None):
    """Time products whose rows are more and less far apart."""
    return bench.compare(
        "bf16, rows apart by",
        leading_dimensions,
        baseline="4096",
        flops=2 * SIZE**3,
        guess=guess,
        graph=True,
    )


def kernels(function):
    """Return the names of the kernels that a function launches."""
    from torch.profiler import ProfilerActivity, profile

    function()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        function()
        torch.cuda.synchronize()
    events = seen.key_averages()
    names = [e.key for e in events if str(e.device_type).endswith("CUDA")]
    return [name for name in names if not name.startswith("Mem")]


def show_kernels():
    """Print the kernels that the library chooses, for each distance."""
    if weft.GPU:
        for width, run in leading_dimensions().items():
            print(width, *(name[:100] for name in kernels(run)))


def batches():
    multiply, n = Product(), EDGE
    a, b = (torch.randn(BATCH, n, n, device="cuda").bfloat16() for _ in range(2))
    c = torch.empty_like(a)
    w = torch.randn(n, n, device="cuda").bfloat16()
    each = list(zip(a, b, c, strict=True))
    tall = a.view(-1, n), w, c.view(-1, n)

    def loop():
        for matrices in each:
            multiply(*matrices)

    return {
        "torch.bmm": lambda: torch.bmm(a, b, out=c),
        "a loop": loop,
        "one call": lambda: multiply.batch(a, b, c),
        "shared, stride 0": lambda: multiply.batch(a, w, c),
        "one tall product": lambda: multiply(*tall),
    }


def many(guess=None):
    """Time a thousand small products, in a loop and in one call."""
    return bench.compare(
        "1000 products of 64 x 64",
        batches,
        baseline="torch.bmm",
        flops=2 * BATCH * EDGE**3,
        guess=guess,
        graph=True,
    )


def layers(m, n, k):
    """Return the ways to compute one layer."""
    activate = torch.nn.functional.gelu
    x, w = (torch.randn(r, k, device="cuda").bfloat16() for r in (m, n))
    bias = torch.randn(n, device="cuda").bfloat16()
    y = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
    wt = w.t()

    @torch.compile(dynamic=False)
    def pointwise(y, bias):
        return activate(y + bias, approximate="tanh")

    @torch.compile(dynamic=False)
    def whole(x, w, bias):
        product = torch.nn.functional.linear(x, w, bias)
        return activate(product, approximate="tanh")

    def two():
        torch.mm(x, wt, out=y)
        return pointwise(y, bias)

    pointwise(y, bias)
    whole(x, w, bias)
    fused = Linear(x, w, bias, y)
    plain = Linear(x, w, None, torch.empty_like(y))
    return {
        "mm, then pointwise": two,
        "compiled": lambda: whole(x, w, bias),
        "_addmm_activation": lambda: torch._addmm_activation(
            bias, x, wt, use_gelu=True
        ),
        "cuBLASLt": fused,
        "no activation": plain,
    }


def cube(guess=None):
    """Time a layer with bias and GELU, all sides 4096."""
    return bench.compare(
        "bias and GELU, 4096 x 4096 x 4096",
        lambda: layers(4096, 4096, 4096),
        baseline="mm, then pointwise",
        flops=2 * 4096**3,
        guess=guess,
        graph=True,
    )


def flat():
    """Time a layer with a smaller k."""
    return bench.compare(
        "bias and GELU, 8192 x 8192 x 1024",
        lambda: layers(8192, 8192, 1024),
        baseline="mm, then pointwise",
        flops=2 * 8192 * 8192 * 1024,
        graph=True,
    )


def flatter():
    """Time a layer with a small k."""
    return bench.compare(
        "bias and GELU, 16384 x 8192 x 256",
        lambda: layers(16384, 8192, 256),
        baseline="mm, then pointwise",
        flops=2 * 16384 * 8192 * 256,
        graph=True,
    )


def eight_bits():
    x, w = (torch.randn(SIZE, SIZE, device="cuda") for _ in range(2))
    y = torch.empty(SIZE, SIZE, dtype=torch.bfloat16, device="cuda")
    plain = Linear(x.bfloat16(), w.bfloat16(), None, y)
    rows = {"bf16": plain}
    if torch.cuda.get_device_capability() < (8, 9):
        return rows
    x8, w8 = (t.to(torch.float8_e4m3fn) for t in (x, w))
    unit = torch.ones((), device="cuda")
    for name, fast in (("fp8", False), ("fp8, fast sums", True)):
        rows[name] = Linear(x8, w8, None, y, fast=fast)
    rows["torch._scaled_mm"] = lambda: torch._scaled_mm(
        x8, w8.t(), unit, unit, out_dtype=torch.bfloat16
    )
    return rows


def narrow(guess=None):
    """Time fp8 beside bfloat16."""
    return bench.compare(
        "fp8, 4096 x 4096 x 4096",
        eight_bits,
        baseline="bf16",
        flops=2 * SIZE**3,
        guess=guess,
        graph=True,
    )


def choice(fastest, guess=None):
    """Time what the heuristic and the learner's function choose."""

    def long_sums():
        m, n, k = 64, 64, 65536
        x, w = (torch.randn(r, k, device="cuda").bfloat16() for r in (m, n))
        y = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
        ours = Linear(x, w, None, y)
        without = Linear(x, w, None, y, nbytes=0)

        def timed(layer):
            def run(i):
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                torch.cuda._sleep(4_000_000)  # 2 ms, to queue what follows
                begin.record()
                for _ in range(10):
                    layer(i)
                end.record()
                end.synchronize()
                return begin.elapsed_time(end)

            return run

        def best(layer):  # yours
            return fastest(timed(layer), min(len(layer.found), 8)) or 0

        first, none = best(ours), best(without)
        return {
            "torch": lambda: torch.mm(x, w.t(), out=y),
            "the first": ours,
            "the fastest of 8": lambda: ours(first),
            "no workspace": lambda: without(none),
        }

    return bench.compare(
        "64 x 64 x 65536",
        long_sums,
        baseline="the first",
        flops=2 * 64 * 64 * 65536,
        guess=guess,
        graph=True,
    )


def small_calls():
    a, b, c = (torch.randn(64, 64, device="cuda") for _ in range(3))
    handle = cublas.create()

    def call(handle):
        cublas.sgemm(
            *(handle, N, N, 64, 64, 64, ONE, b.data_ptr(), 64, a.data_ptr()),
            *(64, ZERO, c.data_ptr(), 64),
        )

    def binding():
        cublas.set_stream(handle, torch.cuda.current_stream().cuda_stream)
        for _ in range(100):
            call(handle)

    def a_handle_per_call():
        for _ in range(100):
            own = cublas.create()
            call(own)
            cublas.destroy(own)

    def by_torch():
        for _ in range(100):
            torch.mm(a, b, out=c)

    return {
        "torch.mm": by_torch,
        "binding": binding,
        "a handle per call": a_handle_per_call,
    }


def costs(guess=None):
    """Time a binding, with a handle that is kept and without."""
    return bench.compare(
        "100 products of 64 x 64",
        small_calls,
        baseline="torch.mm",
        guess=guess,
        host=True,
        unsteady="the host's time is part of it",
    )
