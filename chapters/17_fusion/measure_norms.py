"""The measurements of chapter 17 with LayerNorm and RMSNorm."""

import math

from numba import cuda

import weft
from weft import bench

from .kernels import EPS, norm_unknown
from .measure_layer import COLS, ROWS, SIZE, compiled, copies, near
from .norm_backward import WIDE, add_parts, norm_backward

sms = weft.device.find().sms or 132
HOW = {  # columns -> pieces, threads, ahead, blocks on each SM
    1024: (1, 256, "registers", 5),
    4096: (2, 512, "no", 2),
    8192: (4, 512, WIDE, 1),
}
SHAPES = ((32768, 1024), (16384, 4096), (8192, 8192))

norm_kernels = {}
back_kernels = {}
wide_kernels = {}

if weft.GPU:
    import torch
    import torch.nn.functional as F


def capped(kernel, registers):
    """Return the kernel, compiled with at most this many registers."""
    return cuda.jit(max_registers=registers)(kernel.py_func)


def norm_arrays(rows, cols):
    """Return x, gamma, beta, out, mean and rstd on the GPU."""
    torch.manual_seed(17)
    x = torch.randn(rows, cols, device="cuda") + 1
    gamma, beta = torch.randn(2, cols, device="cuda")
    mean, rstd = torch.empty(2, rows, device="cuda")
    return x, gamma, beta, torch.empty_like(x), mean, rstd


def registers(layer_norm, guess=None):
    """Run the learner's LayerNorm, with fewer registers too, and a colleague's."""

    def register_candidates():
        arrays = norm_arrays(ROWS, COLS)
        x, gamma, beta, out = arrays[:4]
        args = list(map(cuda.as_cuda_array, arrays))
        norm_kernels.update({"yours": layer_norm, "unknown index": norm_unknown})
        for most in (32, 24):
            norm_kernels[f"at most {most}"] = capped(layer_norm, most)

        for kernel in norm_kernels.values():
            kernel[ROWS, 256](*args)
            near(out, F.layer_norm(x, (COLS,), gamma, beta))
        return {
            "copy": lambda: out.copy_(x),
            "F.layer_norm": lambda: F.layer_norm(x, (COLS,), gamma, beta),
        } | {
            name: lambda kernel=kernel: kernel[ROWS, 256](*args)
            for name, kernel in norm_kernels.items()
        }

    return bench.compare(
        "LayerNorm, registers, 16384 x 4096 float32",
        register_candidates,
        baseline="F.layer_norm",
        bytes=2 * 4 * SIZE,
        ceiling="copy",
        guess=guess,
    )


def layer_in_torch(x, gamma, beta):
    return F.layer_norm(x, gamma.shape, gamma, beta, float(EPS))


def rms_in_torch(x, gamma, beta):
    return F.rms_norm(x, gamma.shape, gamma, float(EPS))


def fused_backward(how, centred, cols, *arrays, most=None):
    """Return the launch of both kernels, the first kernel, and the sums."""
    pieces, threads, ahead, each = how
    kernel = norm_backward(centred, pieces, threads, ahead, most)
    blocks = each * sms
    parts = torch.empty(2, blocks, cols, device="cuda")
    sums = torch.empty(2, cols, device="cuda")
    d_parts = [cuda.as_cuda_array(p) for p in (*parts, *sums)]
    args = [*map(cuda.as_cuda_array, arrays), *d_parts[:2]]

    def launch():
        kernel[blocks, threads](*args)
        add_parts[(cols // 32, 1 + centred), (32, 16)](*d_parts)

    launch()
    return launch, kernel, sums


def backward_arrays(rows, cols, centred):
    """Return torch's gradients as a function of y, and our arguments."""
    x, gamma, beta, dx, mean, rstd = norm_arrays(rows, cols)
    dy = torch.randn_like(x)
    wide = x.double()
    mean.copy_(wide.mean(1) if centred else torch.zeros_like(mean))
    square = (wide - mean.double()[:, None]).square().mean(1)
    rstd.copy_(torch.rsqrt(square + float(EPS)))

    leaves = [t.requires_grad_() for t in (x, gamma, beta)][: 2 + centred]

    def back(y):
        return torch.autograd.grad(y, leaves, dy, retain_graph=True)

    return back, (x, gamma, beta), (x, dy, gamma, mean, rstd, dx)


def backward(layer_norm_backward, column_parts, guess=None):
    """Run LayerNorm backward: the learner's two kernels, and one for both."""

    def backward_candidates():
        """Check the learner's two kernels and the fused one, and return all ways."""
        back, given, arrays = backward_arrays(ROWS, COLS, True)
        arrays = [t.detach() for t in arrays]
        x, dy, gamma, mean, rstd, dx = map(cuda.as_cuda_array, arrays)
        y, compiled_y = layer_in_torch(*given), compiled(layer_in_torch)(*given)
        parts = torch.empty(2, 264, COLS, device="cuda")
        sums = torch.empty(2, COLS, device="cuda")
        d_parts = [cuda.as_cuda_array(p) for p in (*parts, *sums)]

        def apart():
            layer_norm_backward[ROWS, 256](x, dy, gamma, mean, rstd, dx)
            column_parts[(8, 264), 128](x, dy, mean, rstd, *d_parts[:2])
            add_parts[(COLS // 32, 2), (32, 16)](*d_parts)

        aims = back(y)
        both, _, totals = fused_backward(HOW[COLS], True, COLS, *arrays)
        for found in (totals, sums):
            near(arrays[-1], aims[0], 1e-4)
            near(found[0], aims[1], 1e-4)
            near(found[1], aims[2], 1e-4)
            apart()
        return {
            "copy": copies(3),
            "PyTorch": lambda: back(y),
            "torch.compile": lambda: back(compiled_y),
            "rows, then columns": apart,
            "both at once": both,
        }

    return bench.compare(
        "LayerNorm backward, rungs, 16384 x 4096 float32",
        backward_candidates,
        baseline="PyTorch",
        bytes=3 * 4 * SIZE,
        ceiling="copy",
        guess=guess,
    )


def register_variants():
    _, _, arrays = backward_arrays(ROWS, COLS, True)
    arrays = [t.detach() for t in arrays]
    candidates = {"copy": copies(3)}
    for name, how, most in (
        ("two blocks", (2, 512, "no", 2), None),
        ("one block, ahead", (2, 512, "registers", 1), None),
        ("two blocks, ahead", (2, 512, "registers", 2), 64),
        ("three blocks, ahead", (2, 512, "registers", 3), 40),
        ("large block", (1, 1024, "no", 1), None),
        ("large block, ahead", (1, 1024, "registers", 1), None),
    ):
        candidates[name], kernel, _ = fused_backward(
            how, True, COLS, *arrays, most=most
        )
        back_kernels[name] = kernel, how[1]
    return candidates


def variants(guess=None):
    """Run the backward pass with more and with fewer registers."""
    return bench.compare(
        "LayerNorm backward, registers, 16384 x 4096 float32",
        register_variants,
        baseline="two blocks",
        bytes=3 * 4 * SIZE,
        ceiling="copy",
        guess=guess,
    )


def wide_variants():
    back, given, arrays = backward_arrays(8192, 8192, True)
    arrays = [t.detach() for t in arrays]
    aims = back(layer_in_torch(*given))
    candidates = {"copy": copies(3)}
    for name, ahead in (
        ("not ahead", "no"),
        ("ahead in registers", "registers"),
        ("ahead in shared memory", "shared"),
    ):
        if ahead == "shared" and WIDE != "shared":
            continue
        candidates[name], kernel, sums = fused_backward(
            (4, 512, ahead, 1), True, 8192, *arrays
        )
        for found, aim in zip((arrays[-1], *sums), aims, strict=True):
            near(found, aim, 1e-4)
        wide_kernels[name] = kernel, 512
    return candidates


def next_row(guess=None):
    """Load the next row into registers and into shared memory."""
    return bench.compare(
        "LayerNorm backward, next row, 8192 x 8192 float32",
        wide_variants,
        baseline="not ahead",
        bytes=3 * 4 * SIZE,
        ceiling="copy",
        guess=guess,
    )


def back_candidates(rows, cols, centred):
    """Return a builder of the ways to go back through a norm."""

    def build():
        back, given, arrays = backward_arrays(rows, cols, centred)
        arrays = [t.detach() for t in arrays]
        torch_norm = layer_in_torch if centred else rms_in_torch
        y = torch_norm(*given)
        yours, _, sums = fused_backward(HOW[cols], centred, cols, *arrays)
        for found, aim in zip((arrays[-1], *sums), back(y), strict=False):
            near(found, aim, 1e-4)

        source = torch.empty(3 * rows * cols // 2, device="cuda")
        target = torch.empty_like(source)
        candidates = {
            "copy": lambda: target.copy_(source),
            "PyTorch": lambda: back(y),
            "yours": yours,
        }
        compiled_y = compiled(torch_norm)(*given)
        candidates["torch.compile"] = lambda: back(compiled_y)
        return candidates

    return build


def shapes(layer_norm, rms_norm, guess=None):
    """Run both norms forward and backward, for three shapes."""

    def forward_candidates(rows, cols, centred):
        """Return a builder of the ways to go through a norm."""

        def build():
            arrays = norm_arrays(rows, cols)
            x, gamma, beta, out = arrays[:4]
            args = list(map(cuda.as_cuda_array, arrays))
            if not centred:
                args = [args[0], args[1], args[3], args[5]]
            kernel = layer_norm if centred else rms_norm
            kernel[rows, cols // 16](*args)
            torch_norm = layer_in_torch if centred else rms_in_torch
            near(out, torch_norm(x, gamma, beta))

            given = [t.requires_grad_() for t in (x, gamma, beta)]
            candidates = {
                "copy": lambda: out.copy_(x.detach()),
                "PyTorch": lambda: torch_norm(*given),
                "yours": lambda: kernel[rows, cols // 16](*args),
            }
            torch_made = compiled(torch_norm)
            candidates["torch.compile"] = lambda: torch_made(*given)
            return candidates

        return build

    tables = {}
    for centred in (True, False):
        for way, make in (("", forward_candidates), (" backward", back_candidates)):
            for rows, cols in SHAPES:
                kind = "LayerNorm" if centred else "RMSNorm"
                name = f"{kind}{way}, {rows} x {cols}"
                tables[name] = bench.compare(
                    f"{name} float32",
                    make(rows, cols, centred),
                    baseline="PyTorch",
                    bytes=(3 if way else 2) * 4 * rows * cols,
                    ceiling="copy",
                    guess=guess,
                )
    return tables


def overview(tables):
    """Print one line for each table: yours beside the others."""
    heads = f"{'copy':>11}{'of copy':>9}{'x PyTorch':>11}{'x compile':>11}"
    print(f"{'':34}{heads}")
    for name, table in tables.items():
        ms = {row.name: row.ms for row in table}
        if not ms:
            continue
        others = [ms.get(n, math.nan) for n in ("PyTorch", "torch.compile")]
        against = "".join(
            f"{other / ms['yours']:11.2f}" if other == other else f"{'-':>11}"
            for other in others
        )
        share = ms["copy"] / ms["yours"]
        print(f"{name:34}{ms['copy'] * 1e3:8.1f} us{share:9.1%}{against}")
