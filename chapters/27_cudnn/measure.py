"""The measurements of chapter 27. Each function times, and returns a table."""

import numpy as np
import torch
from numba import cuda
from torch.nn import functional

import weft
from weft import bench
from weft.libraries import cudnn, on_device
from weft.libraries.cudnn import ForwardAlgo, MathType, Pointwise
from weft.libraries.graphs import Graph

from .kernels import layer_tiled
from .ready_convolutions import Forward, Fused

LARGE = (32, 256, 28, 28), (256, 256, 3, 3)
TENSOR_CORES = MathType.TENSOR_OP_MATH


def tried(what, function):
    """Print what the library says."""
    try:
        function()
        print(f"{what}: no complaint")
    except cudnn.cuDNNError as error:
        print(f"{what}: {error}")


def zeros_of(*shape):
    """Return an array of zeros on the device."""
    return on_device(torch.zeros(shape))


def failures(unset):
    """Print what cuDNN reports when it fails. unset: a tensor's descriptor."""
    images = zeros_of(2, 8, 7, 9)
    small, large = zeros_of(16, 8, 3, 3), zeros_of(16, 8, 7, 7)
    right, wide = zeros_of(2, 16, 7, 9), zeros_of(2, 16, 7, 10)
    for what, call in {
        "no channels": lambda: cudnn.set_tensor4d_descriptor(unset, 0, 0, 2, 0, 7, 9),
        "y a column too wide": Forward(images, small, wide, (1, 1)),
        "Winograd for 7 x 7 taps": lambda: Forward(
            images, large, right, (3, 3)
        ).workspace(ForwardAlgo.WINOGRAD),
    }.items():
        tried(what, call)


def relative(got, wanted):
    """Return the error of a result, relative to its size."""
    error = torch.linalg.vector_norm(got - wanted)
    return float(error / torch.linalg.vector_norm(wanted))


def algorithms():
    n, c, f, s = 32, 64, 64, 56
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    x = torch.randn(n, c, s, s, device="cuda")
    w = torch.randn(f, c, 3, 3, device="cuda") / 24
    y = torch.empty(n, f, s, s, device="cuda")
    layer = Forward(x, w, y, (1, 1), MathType.FMA_MATH)
    d_x, d_taps, d_y = map(
        cuda.as_cuda_array, (x, w.view(f, 9 * c).T.contiguous(), y.view(-1, s))
    )

    def by_torch():
        return functional.conv2d(x, w, padding=1)

    def tiled():
        layer_tiled[(2, 7, n), 256](d_x, d_taps, d_y)

    def all_plans():
        # Deterministic, so that the plan that `torch` keeps is not used again.
        switches = torch.backends.cudnn
        switches.deterministic, switches.benchmark_limit = True, 0
        try:
            return functional.conv2d(x, w, padding=1)
        finally:
            switches.deterministic, switches.benchmark_limit = False, 10

    ways = {
        "torch": by_torch,
        "torch, all plans": all_plans,
        "layer_tiled": tiled,
    }
    wanted = functional.conv2d(x.double(), w.double(), padding=1)
    for algo in layer.able():
        megabytes = layer.workspace(algo) / 1e6
        layer(algo)
        error = relative(y.double(), wanted)
        print(f"{algo.name:22}{megabytes:8.1f} MB   error {error:.1e}")
        ways[algo.name] = lambda algo=algo: layer(algo)
    allowed = Forward(x, w, y, (1, 1))  # the default math type: TF32
    allowed()
    print(f"default math          error {relative(y.double(), wanted):.1e}")
    ways["PRECOMP, default math"] = allowed
    for each in layer.ranked()[:4]:
        print(f"ranked: {ForwardAlgo(each['algo']).name}")
    return ways


def table(guess=None):
    """Time the algorithms of one layer."""
    return bench.compare(
        "32 x 64 x 56 x 56, 64 filters of 3 x 3, float32",
        algorithms,
        baseline="torch",
        flops=2 * 32 * 64 * 64 * 9 * 56**2,
        guess=guess,
    )


def tensors_in(order, dtype=torch.float16):
    """Return x, w and y of the large layer in a memory format."""
    x, w = (torch.randn(s, device="cuda", dtype=dtype) / 8 for s in LARGE)
    return (
        each.contiguous(memory_format=order) for each in (x, w, torch.empty_like(x))
    )


def legacy_ways():
    """Return convolutions of the large layer by the legacy interface."""
    x, w, y = tensors_in(torch.channels_last)
    x2, w2, y2 = tensors_in(torch.contiguous_format)
    turned = w.contiguous()
    ways = {
        "NHWC": Forward(x, w, y, (1, 1), TENSOR_CORES),
        "filters NCHW": Forward(x, turned, y, (1, 1), TENSOR_CORES),
        "NCHW": Forward(x2, w2, y2, (1, 1), TENSOR_CORES),
        "NHWC, default math": Forward(x, w, y, (1, 1)),
    }
    for way in ways.values():
        way()
    return ways


def layouts():
    torch.backends.cudnn.benchmark = False
    ways = legacy_ways()
    x, w, _ = tensors_in(torch.channels_last)
    x2, w2, _ = tensors_in(torch.contiguous_format)
    ways["torch, channels_last"] = lambda: functional.conv2d(x, w, padding=1)
    ways["torch"] = lambda: functional.conv2d(x2, w2, padding=1)
    return ways


def layout(guess=None):
    """Time a layer in NHWC and in NCHW."""
    return bench.compare(
        "32 x 256 x 28 x 28, 256 filters of 3 x 3, float16",
        layouts,
        baseline="NHWC",
        flops=2 * 32 * 256 * 256 * 9 * 28**2,
        guess=guess,
        graph=True,
    )


def kernels_of(function):
    """Print the names of the kernels that one call launches."""
    function()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as seen:
        function()
        torch.cuda.synchronize()
    for event in seen.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            print("   ", event.name[:100])


def show_kernels():
    """Print the kernels that cuDNN launches, for each layout."""
    if weft.GPU:
        for name, way in legacy_ways().items():
            print(name)
            kernels_of(way)
    else:
        print("The solution shows what an H200 said.")


def channels():
    last = torch.channels_last

    def with_channels(c, stored=None):
        x = torch.randn(32, stored or c, 28, 28, device="cuda").half()
        w = torch.randn(256, stored or c, 3, 3, device="cuda").half() / 48
        x[:, c:], w[:, c:] = 0, 0
        x, w = (each.contiguous(memory_format=last) for each in (x, w))
        return lambda: functional.conv2d(x, w, padding=1)

    torch.backends.cudnn.benchmark = True  # the best that PyTorch can do
    ways = {str(c): with_channels(c) for c in (256, 248, 252, 255, 260, 264)}
    ways["260 in 264"] = with_channels(260, 264)
    ways["260 in 320"] = with_channels(260, 320)
    return ways


def padding(guess=None):
    """Time layers whose number of channels differs."""
    return bench.compare(
        "32 x c x 28 x 28, 256 filters of 3 x 3, float16",
        channels,
        baseline="256",
        guess=guess,
        graph=True,
    )


def engines_for(what, order):
    """Print how many plans a graph has, and how many compile a kernel."""
    x, w, y = tensors_in(order)
    graph = Graph(cudnn.create())
    before, taps = graph.tensor(1, x), graph.tensor(2, w)
    result, between = graph.tensor(3, y), graph.virtual(4, y, torch.float16)
    if what == "ReLU before":
        graph.pointwise(Pointwise.RELU_FWD, before, y=between)
        graph.convolution(between, taps, y=result, padding=(1, 1))
    elif what == "GELU after":
        graph.convolution(before, taps, y=between, padding=(1, 1))
        graph.pointwise(Pointwise.GELU_FWD, between, y=result)
    else:
        graph.convolution(before, taps, y=result, padding=(1, 1))
    try:
        plans = graph.plans(most=20)
        compiled = sum(plan.compiled for plan in plans)
        print(f"{what}: {len(plans)} plans, {compiled} of them compiled")
    except cudnn.cuDNNError as error:
        print(f"{what}: {error}")
    graph.destroy()
    cudnn.destroy(graph.handle)


def show_engines():
    """Print for which graphs cuDNN has engines."""
    if weft.GPU:
        for what in ("alone", "GELU after", "ReLU before"):
            engines_for(what, torch.channels_last)
        print("in NCHW")
        engines_for("ReLU before", torch.contiguous_format)
    else:
        print("The solution shows what an H200 said.")


def timed(run, calls=10):
    """Return the milliseconds of a call, from a CUDA graph of several."""
    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            run()
    times = []
    for _ in range(6):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / calls)
    return float(np.median(times[1:]))


def by_pytorch(x, w, bias):
    """Return PyTorch's ways to compute the layer."""

    def eager():
        return functional.conv2d(x, w, bias, padding=1).relu()

    ones = (1, 1)
    return {
        "conv alone": lambda: functional.conv2d(x, w, padding=1),
        "eager": eager,
        "torch.compile": torch.compile(eager),
        "cudnn_convolution_relu": lambda: torch.cudnn_convolution_relu(
            x, w, bias, ones, ones, ones, 1
        ),
    }


def fusions():
    torch.backends.cudnn.benchmark = True
    x, w, y = tensors_in(torch.channels_last)
    bias = torch.randn(256, device="cuda").half()
    layer = Fused(x, w, bias, y, (1, 1), most=40)
    spare = Fused(x, w, bias, y, (1, 1), 8, cudnn.HeurMode.FALLBACK)
    ways = by_pytorch(x, w, bias)

    wanted, times = ways["eager"]().double(), []
    for number in range(len(layer.plans)):
        layer(number)
        assert relative(y.double(), wanted) < 1e-2
        times.append(timed(lambda number=number: layer(number)))
    best, slowest = int(np.argmin(times)), int(np.argmax(times))
    for name, plans in {"A": layer.plans, "fallback": spare.plans}.items():
        compiled = sum(plan.compiled for plan in plans)
        engines = sorted({plan.engine for plan in plans})
        print(
            f"mode {name}: {len(plans)} plans of engines {engines}, {compiled} "
            "of them compiled when they are built"
        )
    print(f"number {best} of the ranking is the fastest, {slowest} the slowest")
    late = next(i for i, plan in enumerate(spare.plans) if plan.compiled)
    spare(), spare(late)
    return {
        "first plan": layer,
        "best plan": lambda: layer(best),
        "slowest plan": lambda: layer(slowest),
        "fallback": spare,
        "compiled plan": lambda: spare(late),
        **ways,
    }


def fused(guess=None):
    """Time the plans of a layer."""
    return bench.compare(
        "conv, bias and ReLU, 32 x 256 x 28 x 28",
        fusions,
        baseline="eager",
        flops=2 * 32 * 256 * 256 * 9 * 28**2,
        guess=guess,
        graph=True,
    )


def thin():
    torch.backends.cudnn.benchmark = True
    last = torch.channels_last
    x = torch.randn(64, 64, 112, 112, device="cuda").half()
    w = torch.randn(64, 64, 3, 3, device="cuda").half() / 24
    bias = torch.randn(64, device="cuda").half()
    x, w, y = (
        each.contiguous(memory_format=last) for each in (x, w, torch.empty_like(x))
    )
    layer = Fused(x, w, bias, y, (1, 1), most=1)
    layer()
    return {"first plan": layer, **by_pytorch(x, w, bias)}


def less(guess=None):
    """Time a layer with less arithmetic per byte."""
    return bench.compare(
        "conv, bias and ReLU, 64 x 64 x 112 x 112",
        thin,
        baseline="eager",
        flops=2 * 64 * 64 * 64 * 9 * 112**2,
        guess=guess,
        graph=True,
    )


def building():
    torch.backends.cudnn.benchmark = True
    x, w, y = tensors_in(torch.channels_last)
    bias = torch.randn(256, device="cuda").half()
    kept = Fused(x, w, bias, y, (1, 1), most=1)

    def build():
        layer = Fused(x, w, bias, y, (1, 1), most=1)
        layer()
        layer.graph.destroy()
        cudnn.destroy(layer.handle)

    return {
        "execute": kept,
        "build and execute": build,
        "torch": lambda: functional.conv2d(x, w, bias, padding=1).relu(),
    }


def plans(guess=None):
    """Time building a plan, by the host's clock."""
    return bench.compare(
        "conv, bias and ReLU, on the host's clock",
        building,
        baseline="execute",
        guess=guess,
        host=True,
    )


def attention():
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (
        torch.randn(4, 16, 4096, 128, device="cuda").bfloat16() for _ in range(3)
    )

    def by(backend):
        def run():
            with sdpa_kernel(backend):
                return functional.scaled_dot_product_attention(q, k, v)

        return run

    return {
        "FlashAttention": by(SDPBackend.FLASH_ATTENTION),
        "cuDNN": by(SDPBackend.CUDNN_ATTENTION),
        "memory-efficient": by(SDPBackend.EFFICIENT_ATTENTION),
        "default": lambda: functional.scaled_dot_product_attention(q, k, v),
    }


def attended(guess=None):
    """Time attention by three backends."""
    return bench.compare(
        "attention forward, 4 x 16 x 4096 x 128, bfloat16",
        attention,
        baseline="FlashAttention",
        flops=4 * 4 * 16 * 4096**2 * 128,
        guess=guess,
    )
