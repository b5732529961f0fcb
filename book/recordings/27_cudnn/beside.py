"""Time cuDNN's pooling, softmax and normalisation beside PyTorch's; write a table.

python beside.py [--out FOLDER], on a machine with a GPU, Numba and PyTorch. Layer
normalisation needs nvidia-cudnn-frontend as well, and is left out without it.
"""

import argparse
import ctypes
import sys
from collections.abc import Callable, Mapping
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2])]

from profiled import WIDTH, facts  # noqa: E402

COMMAND = "$ python3 beside.py\n"
HOW = """\
# float16; medians of calls timed in turns, L2 emptied before each; MB is the least
# that a call can move: inputs read once, results written once; copy moves as much
"""
COLUMNS = "MB", "ms", "of copy"
EACH = 11  # characters of a column
HALF, NCHW, NHWC = 2, 0, 1  # of cudnnDataType_t and cudnnTensorFormat_t
MAX, AVERAGE = 0, 1  # of cudnnPoolingMode_t; the average counts the padding
FAST, ACCURATE = 0, 1  # of cudnnSoftmaxAlgorithm_t
OVER_CHANNELS = 0  # of cudnnSoftmaxMode_t: over all that one image has
NAN_GOES_ON = 1  # of cudnnNanPropagation_t

Calls = dict[str, Callable[[], Any]]


class Legacy:
    """cuDNN's older functions for pooling and softmax, which the course has no other
    use for: called by ctypes, with a handle on PyTorch's default stream.
    """

    def __init__(self) -> None:
        self.library = import_module("weft.libraries.loading").real("cudnn", "record")
        self.handle = self.made("cudnnCreate")
        self.one, self.zero = (ctypes.c_float(value) for value in (1, 0))

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function: ints as int, everything else as it is. Raises for a status.

        Addresses are passed as c_void_p.
        """
        status = getattr(self.library, name)(*arguments)
        if status:
            raise RuntimeError(f"status {status} from {name}")

    def made(self, name: str) -> ctypes.c_void_p:
        """Return what a function creates, such as a descriptor."""
        found = ctypes.c_void_p()
        self.call(name, ctypes.byref(found))
        return found

    def described(self, x: torch.Tensor) -> ctypes.c_void_p:
        """Return the descriptor of a tensor of four axes in float16."""
        descriptor = self.made("cudnnCreateTensorDescriptor")
        format = NCHW if x.is_contiguous() else NHWC
        self.call("cudnnSetTensor4dDescriptor", descriptor, format, HALF, *x.shape)
        return descriptor

    def ends(self, x: torch.Tensor, y: torch.Tensor) -> tuple[Any, ...]:
        """Return the arguments that pooling and softmax have in common."""
        at = [ctypes.c_void_p(each.data_ptr()) for each in (x, y)]
        one, zero = map(ctypes.byref, (self.one, self.zero))
        return one, self.described(x), at[0], zero, self.described(y), at[1]

    def pooling(self, mode: int, x: torch.Tensor, y: torch.Tensor) -> Callable:
        """Return a call that pools windows of 3 x 3, two apart, with a padding of 1."""
        pool = self.made("cudnnCreatePoolingDescriptor")
        sizes = 3, 3, 1, 1, 2, 2
        self.call("cudnnSetPooling2dDescriptor", pool, mode, NAN_GOES_ON, *sizes)
        ends = self.ends(x, y)
        return lambda: self.call("cudnnPoolingForward", self.handle, pool, *ends)

    def softmax(self, how: int, x: torch.Tensor, y: torch.Tensor) -> Callable:
        """Return a call for the softmax of each row."""
        ends = self.ends(*(each[:, :, None, None] for each in (x, y)))
        asked = self.handle, how, OVER_CHANNELS
        return lambda: self.call("cudnnSoftmaxForward", *asked, *ends)


def agrees(got: torch.Tensor, wanted: torch.Tensor, name: str) -> None:
    """Raise where a result differs from the one that PyTorch computes in float32."""
    error = (got.float() - wanted.float()).abs().max() / wanted.float().abs().max()
    assert error < 5e-3, f"{name}: an error of {error:.1e}"


def copy_of(count: int) -> Callable[[], Any]:
    """Return a copy that reads and writes that many bytes in all."""
    x = torch.ones(count // 2, dtype=torch.int8, device="cuda")
    out = torch.empty_like(x)
    return lambda: out.copy_(x)


def pooled(legacy: Legacy) -> tuple[str, int, Calls]:
    """The pooling of a residual network's stem, on 128 images."""
    calls: Calls = {}
    for layout, order in {
        "NCHW": torch.contiguous_format,
        "NHWC": torch.channels_last,
    }.items():
        x = torch.randn(128, 64, 112, 112, device="cuda").half()
        x = x.contiguous(memory_format=order)
        by_torch = {
            "max": lambda x=x: F.max_pool2d(x, 3, 2, 1),
            "average": lambda x=x: F.avg_pool2d(x, 3, 2, 1),
        }
        for name, mode in {"max": MAX, "average": AVERAGE}.items():
            wanted = by_torch[name]()
            y = torch.empty_like(wanted, memory_format=order)
            ours = legacy.pooling(mode, x, y)
            ours()
            agrees(y, wanted, f"{name}, {layout}")
            calls[f"torch, {name}, {layout}"] = by_torch[name]
            calls[f"cuDNN, {name}, {layout}"] = ours
    return "pool 3 x 3, 128 x 64 x 112 x 112", 2 * (x.numel() + y.numel()), calls


def softened(rows: int, columns: int) -> Callable[[Legacy], tuple[str, int, Calls]]:
    """Softmax of each row."""

    def build(legacy: Legacy) -> tuple[str, int, Calls]:
        x = torch.randn(rows, columns, device="cuda").half()
        calls: Calls = {"torch": lambda: F.softmax(x, -1)}
        for name, how in {"accurate": ACCURATE, "fast": FAST}.items():
            y = torch.empty_like(x)
            ours = legacy.softmax(how, x, y)
            ours()
            agrees(y, F.softmax(x.float(), -1), name)
            calls[f"cuDNN, {name}"] = ours
        return f"softmax, {rows} x {columns}", 4 * x.numel(), calls

    return build


def batch_normalised(legacy: Legacy) -> tuple[str, int, Calls]:
    """Batch normalisation in training, whose statistics need all of the input first."""
    calls: Calls = {}
    ones = [torch.ones(64, device="cuda") for _ in range(2)]
    zeros = [torch.zeros(64, device="cuda") for _ in range(2)]
    given = ones[0], zeros[0], zeros[1], ones[1], True, 0.1, 1e-5
    cudnns = torch.ops.aten.cudnn_batch_norm
    own = torch.ops.aten.native_batch_norm
    for layout, order in {
        "NCHW": torch.contiguous_format,
        "NHWC": torch.channels_last,
    }.items():
        x = torch.randn(128, 64, 112, 112, device="cuda").half()
        x = x.contiguous(memory_format=order)

        def by_torch(x: torch.Tensor = x) -> Any:
            with torch.backends.cudnn.flags(enabled=False):
                return own(x, *given)

        agrees(cudnns(x, *given)[0], by_torch()[0], layout)
        calls[f"torch, {layout}"] = by_torch
        calls[f"cuDNN, {layout}"] = lambda x=x: cudnns(x, *given)
    return "batch norm, 128 x 64 x 112 x 112", 4 * x.numel(), calls


def layer_normalised(legacy: Legacy) -> tuple[str, int, Calls]:
    """Layer normalisation of each row, as a graph of cuDNN's front end."""
    cudnn = import_module("cudnn")
    rows, columns = 16384, 4096
    x = torch.randn(rows, columns, device="cuda").half()
    scale, bias = (torch.randn(columns, device="cuda").half() for _ in range(2))
    epsilon = torch.full((1, 1, 1, 1), 1e-5)
    y = torch.empty_like(x)

    def in_channels(each: torch.Tensor) -> torch.Tensor:
        """Return a view whose last axis is that of the channels."""
        found = each.view(-1, columns, 1, 1)
        return found.as_strided(found.shape, (columns, 1, columns, columns))

    held = [*map(in_channels, (x, scale, bias)), epsilon]
    graph = cudnn.pygraph(
        handle=cudnn.create_handle(),
        intermediate_data_type=cudnn.data_type.FLOAT,
        compute_data_type=cudnn.data_type.FLOAT,
    )
    tensors = [graph.tensor_like(each) for each in held]
    out, _, _ = graph.layernorm(
        norm_forward_phase=cudnn.norm_forward_phase.INFERENCE,
        input=tensors[0],
        scale=tensors[1],
        bias=tensors[2],
        epsilon=tensors[3],
    )
    out.set_output(True).set_data_type(x.dtype)
    graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    room = torch.empty(graph.get_workspace_size(), dtype=torch.uint8, device="cuda")
    pack = dict(zip(tensors, held, strict=True)) | {out: in_channels(y)}

    def by_torch() -> torch.Tensor:
        return F.layer_norm(x, (columns,), scale, bias)

    graph.execute(pack, room)
    agrees(y, by_torch(), "layer norm")
    calls: Calls = {"torch": by_torch, "cuDNN": lambda: graph.execute(pack, room)}
    return f"layer norm, {rows} x {columns}", 4 * x.numel(), calls


def table(title: str, count: int, times: Mapping[str, float]) -> str:
    """Set a table of times in ms, whose row `copy` moves as many bytes, `count`."""
    shown = [[title, *COLUMNS]]
    for name, ms in times.items():
        share = f"{100 * times['copy'] / ms:.0f}%"
        shown.append([name, f"{count / 1e6:.1f}", f"{ms:.4g}", share])
    left = WIDTH - EACH * len(COLUMNS)
    lines = (
        f"{n:{left}}{''.join(f'{c:>{EACH}}' for c in cells)}" for n, *cells in shown
    )
    return "".join(f"{line}\n" for line in lines)


def timed(title: str, count: int, calls: Calls) -> str:
    """Time all calls and a copy of as many bytes; return the table."""
    timing = import_module("weft.timing")
    both = {"copy": copy_of(count)} | calls
    found = timing.measure(both, timing.EventStopwatch())
    return table(title, count, {name: found[name].ms for name in both})


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    given = options.parse_args()
    import_module("weft")  # before Numba
    builds = [pooled, softened(16384, 4096), softened(1024, 131072), batch_normalised]
    versions = f"cuDNN {torch.backends.cudnn.version()}"
    if find_spec("cudnn"):
        builds.append(layer_normalised)
        versions += f", its front end {metadata.version('nvidia-cudnn-frontend')}"
    legacy = Legacy()
    tables = []
    for build in builds:
        tables.append(timed(*build(legacy)))
        print(tables[-1], flush=True)
        torch.cuda.empty_cache()
    given.out.mkdir(parents=True, exist_ok=True)
    text = f"{COMMAND}{facts(ncu=False)}# {versions}\n{HOW}\n" + "\n".join(tables)
    (given.out / "beside.txt").write_text(text, encoding="utf-8")
