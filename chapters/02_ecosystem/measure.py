"""The ways to run the model of chapter 2, and their measurements.

Importing this module exports the model to ONNX and, on a GPU, compiles it and records
it as CUDA graphs: `doors` has a function for each way, which takes no arguments and
returns the output for the batch of 32. One of them runs the learner's kernel, `use`.
"""

import functools
import warnings

import torch
from numba import cuda

import weft
from weft import bench

from .checks import Pair
from .model import FEATURES, HIDDEN, MLP, THREADS, few, model, wanted, weights

MANY = 8192
LIMIT = 1e-5
doors = {"eager, CPU": lambda: model(few)}


def use(kernel):
    """Let the model by hand run this kernel for its first layer."""
    global linear_relu
    linear_relu = kernel


try:
    import onnxruntime
    import onnxscript  # noqa: F401  torch.onnx needs it
except ModuleNotFoundError as missing:
    onnxruntime = None
    print(f"Skipped: {missing.name} is not installed here. This route needs")
    print("         pip install onnx onnxruntime onnxscript")


def exported(x, **options):
    """Return the model as bytes of ONNX, exported with x as its example."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about PyTorch's own code
        options |= {"dynamo": True, "verbose": False}
        return torch.onnx.export(model, (x,), **options).model_proto


if onnxruntime:
    proto = exported(few, dynamic_shapes=({0: "batch"},))

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = THREADS

    def runtime(proto):
        model = proto.SerializeToString()
        return onnxruntime.InferenceSession(
            model, settings, providers=["CPUExecutionProvider"]
        )

    session = runtime(proto)
    feed = {session.get_inputs()[0].name: few.numpy()}
    doors["ONNX Runtime, CPU"] = lambda: session.run(None, feed)[0]

if weft.on_gpu("what these routes lead to"):
    there = MLP().cuda()
    there.load_state_dict(model.state_dict())
    x = few.cuda()
    compiled = torch.compile(there, dynamic=False)

    def as_graph(function):
        """Return a function that replays what `function` launches."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # compiles, allocates: not recorded
            function()
        torch.cuda.current_stream().wait_stream(side)

        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = function()

        def replay():
            graph.replay()
            return out

        return replay

    doors["eager"] = lambda: there(x)
    doors["torch.compile"] = lambda: compiled(x)
    doors["eager, CUDA graph"] = as_graph(doors["eager"])
    doors["compile, CUDA graph"] = as_graph(doors["torch.compile"])

has_triton = weft.device.find().capability >= (8, 0)

if weft.on_gpu("Triton's machine code needs one") and has_triton:
    import triton
    import triton.language as tl

    @triton.jit
    def triton_layer(
        x,  # (m, k)
        w,  # (n, k)
        b,  # (n,)
        out,  # (m, n)
        n,
        k,
        M: tl.constexpr,
        N: tl.constexpr,
        K: tl.constexpr,
        PRECISION: tl.constexpr,
    ):
        row = tl.program_id(0) * M + tl.arange(0, M)
        col = tl.program_id(1) * N + tl.arange(0, N)

        total = tl.zeros((M, N), tl.float32)
        for first in range(0, k, K):  # sizes are multiples of the tile's
            inner = first + tl.arange(0, K)
            left = tl.load(x + row[:, None] * k + inner[None, :])
            right = tl.load(w + col[None, :] * k + inner[:, None])
            total = tl.dot(left, right, total, input_precision=PRECISION)

        total = tl.maximum(total + tl.load(b + col)[None, :], 0)
        tl.store(out + row[:, None] * n + col[None, :], total)

    SMALL = {"M": 16, "N": 32, "K": 64, "num_warps": 4}
    LARGE = {"M": 128, "N": 128, "K": 32, "num_warps": 8}

    def by_triton(x, layer, out, tile, precision="ieee"):
        (m, k), n = x.shape, len(layer.bias)
        grid = (m // tile["M"], n // tile["N"])
        w, b = layer.weight, layer.bias
        triton_layer[grid](x, w, b, out, n, k, PRECISION=precision, **tile)


if weft.on_gpu("the simulator would take hours for a layer of this size"):

    def by_numba(x, layer, out):
        arrays = (x, layer.weight.detach(), layer.bias.detach(), out)
        views = [cuda.as_cuda_array(array) for array in arrays]
        grid = out.numel() // 128
        return lambda: linear_relu[grid, 128, bench.stream()](*views)

    def by_hand(x, tile):
        first = torch.empty(len(x), HIDDEN, device="cuda")
        second = torch.empty_like(first)
        layer_one = by_numba(x, there.one, first)

        def run():
            layer_one()
            by_triton(first, there.two, second, tile)
            return there.three(second)

        return run

    if has_triton:
        doors["by hand"] = by_hand(x, SMALL)

if weft.on_gpu("on a CPU these formats are another story"):
    low = MLP().cuda().bfloat16()
    low.load_state_dict(model.state_dict())


def in_tf32(function):
    """Call a function with TF32 allowed in matrix products."""
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return function()
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def judge(named, relative_error):
    """Print the relative error of each door."""
    for name, door in named.items():
        got = door()
        if isinstance(got, torch.Tensor):
            got = got.cpu().float().numpy()
        error = relative_error(Pair(got, wanted.numpy()))
        if error is None:
            print(f"{name:22} exercise 2 is still open")
        else:
            verdict = "same" if error <= LIMIT else "NOT the same"
            print(f"{name:22} {error:8.1e}  {verdict}")


def judge_formats(relative_error):
    """Print the relative errors of TF32 and bfloat16."""
    if weft.GPU:
        judge(
            {
                "eager, TF32": lambda: in_tf32(doors["eager"]),
                "eager, bfloat16": lambda: low(x.bfloat16()),
            },
            relative_error,
        )


def print_operations():
    """Print what is in the file of ONNX."""
    if onnxruntime:
        print("operations:", *(node.op_type for node in proto.graph.node))
        print(f"size: {proto.ByteSize():,} bytes")


def small(guess=None):
    """Run a batch of 32 in every way."""
    return bench.compare(
        "a batch of 32",
        lambda: doors,
        baseline="eager",
        guess=guess,
        host=True,
        unsteady="the host's time is part of it",
    )


def with_many():
    many = torch.randn(MANY, FEATURES)
    x = many.cuda()
    x16 = x.bfloat16()
    rungs = {
        "eager": lambda: there(x),
        "torch.compile": lambda: compiled(x),
        "compile, CUDA graph": as_graph(lambda: compiled(x)),
        "eager, TF32": lambda: in_tf32(lambda: there(x)),
        "eager, bfloat16": lambda: low(x16),
    }
    if has_triton:
        rungs["by hand"] = by_hand(x, LARGE)
    if onnxruntime:
        feed = {session.get_inputs()[0].name: many.numpy()}
        rungs["ONNX Runtime, CPU"] = lambda: session.run(None, feed)
    return rungs


def large(guess=None):
    """Run a batch of 8192."""
    return bench.compare(
        "a batch of 8192",
        with_many,
        baseline="eager",
        flops=2 * MANY * weights,
        guess=guess,
        host=True,
        unsteady="the host's time is part of it",
    )


def second_layer():
    """Return the ways to run the second layer and its ReLU."""
    x = torch.rand(MANY, HIDDEN, device="cuda")
    out = torch.empty_like(x)

    def layer(x):
        return torch.relu(there.two(x))

    fused = torch.compile(layer, dynamic=False)
    rungs = {
        "eager": lambda: layer(x),
        "torch.compile": lambda: fused(x),
        "Numba": by_numba(x, there.two, out),
    }
    if has_triton:
        rungs["Triton"] = lambda: by_triton(x, there.two, out, LARGE)
    rungs["eager, TF32"] = lambda: in_tf32(lambda: layer(x))
    if has_triton:
        rungs["Triton, TF32"] = functools.partial(
            *(by_triton, x, there.two, out, LARGE, "tf32")
        )
    return rungs


def layer_alone(guess=None):
    """Run the second layer alone."""
    return bench.compare(
        "8192 x 1024 -> 1024, with ReLU",
        second_layer,
        baseline="eager",
        flops=2 * MANY * HIDDEN * HIDDEN,
        guess=guess,
    )


def record(door):
    """Print the kernels that a door launches, and their µs."""
    from torch.profiler import ProfilerActivity, profile

    door()
    what = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=what, acc_events=True) as seen:
        door()
        torch.cuda.synchronize()
    kernels = [e for e in seen.events() if e.device_type.name == "CUDA"]
    for kernel in sorted(kernels, key=lambda e: e.time_range.start):
        print(f"{kernel.time_range.elapsed_us():8.1f}  {kernel.name[:66]}")


def print_records():
    """Print the kernels that three of the ways launch."""
    if weft.on_gpu("there are no kernels to record"):
        for name in ("eager", "compile, CUDA graph", "by hand"):
            if name in doors:
                print(name)
                record(doors[name])


def try_other_sizes():
    """Run 7 inputs with a file whose batch is frozen, and with one where it is free."""
    if onnxruntime:
        frozen = runtime(exported(few))
        seven = {frozen.get_inputs()[0].name: few[:7].numpy()}

        print("frozen, its input:", frozen.get_inputs()[0].shape)
        try:
            frozen.run(None, seven)
        except Exception as error:
            print("frozen, 7 inputs:", type(error).__name__)
            print(*str(error).splitlines()[:2], sep="\n")

        print("free, its input:", session.get_inputs()[0].shape)
        print("free, 7 inputs:", session.run(None, seven)[0].shape)
