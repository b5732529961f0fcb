"""The measurements of chapter 17, but for the norms: launches, GELU, a layer."""

import functools
import logging
import warnings

import numpy as np
from numba import cuda

import weft
from weft import bench

from .kernels import (
    DROPPED,
    GELU_CPP,
    SCALE,
    add_bias,
    add_one,
    add_ones,
    bias_gelu_each,
    dropout_step,
    gelu_each,
    layer,
    layer_backward,
    lean_backward,
    lean_layer,
    tick,
)

SIZE = 16384 * 4096
ROWS, COLS = 16384, 4096
FOURS = (COLS // 512, ROWS), 128

if weft.GPU:
    import torch
    import torch.nn.functional as F


def graph_of(launches):
    """Return the function that replays all these launches as one graph."""
    launches()  # compiles
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launches()
    return graph.replay


def chain(size):
    """Return a builder of the ways to add 1 a hundred times."""

    def build():
        x = torch.zeros(size, device="cuda")
        d_x = cuda.as_cuda_array(x)
        grid = -(-size // 512), min(size, 512)

        def numba():
            stream = bench.stream()
            for _ in range(100):
                add_one[*grid, stream](d_x)

        def pytorch():
            for _ in range(100):
                x.add_(1)

        return {
            "Numba": numba,
            "PyTorch": pytorch,
            "graph": graph_of(numba),
            "one kernel": lambda: add_ones[grid](d_x),
        }

    return build


def chains(guess=None, guess_large=None):
    """Launch a hundred small kernels, in four ways and at three sizes."""

    chains = {
        size: bench.compare(
            f"100 kernels, {size} elements",
            chain(size),
            baseline="Numba",
            host=True,
            guess=guess if size < 1 << 26 else guess_large,
        )
        for size in (32, 1 << 10, 1 << 26)
    }
    return chains


def print_per_kernel(chains):
    """Print how long one of the hundred kernels takes."""
    for size, table in chains.items():
        per_kernel = [f"{r.name} {r.ms * 10:.2f} us" for r in table]
        print(f"{size:10,} elements, for each kernel: {', '.join(per_kernel)}")


def in_cpp(x, bias, out, grid, block):
    """Return a function that launches the C++ bias_gelu on tensors."""
    import cuda.core as core

    if not hasattr(core, "Program"):  # older versions keep it elsewhere
        import cuda.core.experimental as core

    gpu = core.Device()
    gpu.set_current()
    stream = gpu.default_stream
    options = core.ProgramOptions(arch=weft.device.find().sm)
    program = core.Program(GELU_CPP, code_type="c++", options=options)
    twin = program.compile("cubin").get_kernel("bias_gelu")
    config = core.LaunchConfig(grid=grid, block=block)
    pointers = x.data_ptr(), bias.data_ptr(), out.data_ptr()
    fours = np.int32(x.shape[1] // 4)
    return lambda: core.launch(stream, config, twin, *pointers, fours)


@functools.cache
def compiled(function):
    """Return what torch.compile makes of a function of tensors, tuned."""
    from torch._functorch import config

    config.donated_buffer = False  # or backward could run only once
    torch._logging.set_logs(all=logging.ERROR)
    torch._dynamo.config.recompile_limit = 64  # beyond it, nothing is compiled
    warnings.simplefilter("ignore")  # it has a lot to say while it compiles
    mode = "max-autotune-no-cudagraphs"
    return torch.compile(function, mode=mode, dynamic=False)


def near(got, wanted, tolerance=1e-5):
    """Assert that a tensor is what it should be, but for rounding."""
    assert (got - wanted).norm() < tolerance * wanted.norm()


def one_pass(bias_gelu, guess=None):
    """Add a bias and take the GELU: the learner's kernel beside others."""

    def gelu_candidates():
        """Check the learner's kernel and the one in C++, and return all ways."""
        torch.manual_seed(17)
        x = torch.randn(ROWS, COLS, device="cuda")
        bias = torch.randn(COLS, device="cuda")
        out, between = torch.empty_like(x), torch.empty_like(x)
        d_x, d_bias, d_out, d_between = map(cuda.as_cuda_array, (x, bias, out, between))
        each, fours = (COLS // 256, ROWS), (COLS // 512, ROWS)

        def two():
            add_bias[each, 256](d_x, d_bias, d_between)
            gelu_each[each, 256](d_between, d_out)

        bias_gelu[fours, 128](d_x, d_bias, d_out)
        near(out, F.gelu(x + bias))
        mine = out.clone()
        cpp = in_cpp(x, bias, out.zero_(), fours, 128)
        cpp()
        near(out, mine)
        print("CUDA C++: the same bits?", torch.equal(out, mine))
        torch_made = compiled(lambda x, bias: F.gelu(x + bias))
        return {
            "copy": lambda: out.copy_(x),
            "PyTorch": lambda: F.gelu(x + bias),
            "torch.compile": lambda: torch_made(x, bias),
            "two kernels": two,
            "one pass": lambda: bias_gelu_each[each, 256](d_x, d_bias, d_out),
            "one pass, 16 bytes": lambda: bias_gelu[fours, 128](d_x, d_bias, d_out),
            "CUDA C++": cpp,
        }

    return bench.compare(
        "bias and GELU, 16384 x 4096 float32",
        gelu_candidates,
        baseline="PyTorch",
        bytes=2 * 4 * SIZE,
        ceiling="copy",
        guess=guess,
    )


def layer_arrays():
    """Return x, bias, dy, an output and the state, all on the GPU."""
    torch.manual_seed(17)
    x, dy = (torch.randn(ROWS, COLS, device="cuda") for _ in "xy")
    bias = torch.randn(COLS, device="cuda")
    state = torch.tensor([17, 1], dtype=torch.int32, device="cuda")
    return x, bias, dy, torch.empty_like(x), state.view(torch.uint32)


def in_torch(x, bias):
    return F.dropout(F.gelu(x + bias), DROPPED)


def layer_candidates():
    x, bias, _, out, state = layer_arrays()
    args = list(map(cuda.as_cuda_array, (x, bias, state, out)))
    whole = F.gelu(x + bias) * float(SCALE)
    for kernel in (layer, lean_layer):
        kernel[FOURS](*args)
        near(out, torch.where(out == 0, 0, whole))
        assert abs((out == 0).float().mean().item() - DROPPED) < 1e-3

    x.requires_grad_()
    torch_made = compiled(in_torch)
    return {
        "copy": lambda: out.copy_(x.detach()),
        "PyTorch": lambda: in_torch(x, bias),
        "torch.compile": lambda: torch_made(x, bias),
        "one kernel": lambda: layer[FOURS](*args),
        "fewer instructions": lambda: lean_layer[FOURS](*args),
    }


def layer_table(guess=None):
    """Run the layer forward."""
    return bench.compare(
        "bias, GELU, dropout, 16384 x 4096 float32",
        layer_candidates,
        baseline="PyTorch",
        bytes=2 * 4 * SIZE,
        ceiling="copy",
        guess=guess,
    )


def copies(arrays):
    """Return a copy that moves as many bytes as this number of arrays."""
    source = torch.empty(arrays * SIZE // 2, device="cuda")
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def layer_back_candidates():
    x, bias, dy, dx, state = layer_arrays()
    args = list(map(cuda.as_cuda_array, (x, bias, dy, state, dx)))
    x.requires_grad_()
    torch_made = compiled(in_torch)
    y, compiled_y = in_torch(x, bias), torch_made(x, bias)

    def back(y):
        return torch.autograd.grad(y, x, dy, retain_graph=True)

    return {
        "copy": copies(3),
        "PyTorch": lambda: back(y),
        "torch.compile": lambda: back(compiled_y),
        "one kernel": lambda: layer_backward[FOURS](*args),
        "fewer instructions": lambda: lean_backward[FOURS](*args),
    }


def back_table(guess=None):
    """Run the layer backward."""
    return bench.compare(
        "the layer backward, 16384 x 4096 float32",
        layer_back_candidates,
        baseline="PyTorch",
        bytes=3 * 4 * SIZE,
        ceiling="copy",
        guess=guess,
    )


def first_step():
    """Return a seed and the number of a step, on the GPU."""
    state = torch.tensor([17, 1], dtype=torch.int32, device="cuda")
    return state


def replay_steps(dropout):
    """Replay two graphs, and print which of them makes new masks."""
    if weft.on_gpu("there are no graphs to replay"):
        ones = torch.ones(4096, device="cuda")
        out = torch.empty_like(ones)
        state = first_step()
        d_ones, d_out = map(cuda.as_cuda_array, (ones, out))
        d_state = cuda.as_cuda_array(state.view(torch.uint32))
        step = 1

        def as_number():
            dropout_step[8, 128, bench.stream()](d_ones, step, d_out)

        def in_memory():
            dropout[8, 128, bench.stream()](d_ones, d_state, d_out)
            tick[1, 1, bench.stream()](d_state)

        ways = {"as a number": as_number, "in memory": in_memory}
        for name, launches in ways.items():
            replay = graph_of(launches)
            masks = []
            for _ in range(3):
                step += 1  # what the next step of the training would do
                replay()
                masks.append(out == 0)
            same = all(torch.equal(masks[0], mask) for mask in masks)
            said = "the same mask" if same else "new masks"
            print(f"the step {name}: {said}")
            assert same == (name == "as a number")
