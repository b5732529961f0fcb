"""The measurements of chapter 24. Each function times, and returns a table.

Without a GPU, the tables show what the reference GPU measured.
"""

from numba import cuda, float32

import weft
from weft import bench
from weft.intrinsics import bf16_pair, mma_bf16
from weft.templates import specialise
from weft.timing import BurstStopwatch

from .attention import SCALE128, WIDTH, Attention
from .forward_kernel import LOG2E
from .kernels import copy_words_first

if weft.GPU:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    torch.manual_seed(24)
    torch.backends.cuda.matmul.allow_tf32 = False

HEADS = 16


def batched(*tensors):
    """Return views (batch, 16, seq, 128) of tensors (heads, seq, 128)."""
    return [x.view(-1, HEADS, *x.shape[1:]) for x in tensors]


def backend(name, q, k, v, causal):
    """Return a function that calls one backend of PyTorch."""
    q, k, v = batched(q, k, v)
    product = torch.nn.functional.scaled_dot_product_attention

    def run():
        with sdpa_kernel(getattr(SDPBackend, name)):
            return product(q, k, v, is_causal=causal)

    return run


def flash_backward(q, k, v, g, causal):
    """Return a function that calls FlashAttention-2's backward pass."""
    q, k, v, g = batched(q, k, v, g)
    aten = torch.ops.aten
    saved = aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal)
    ran = aten._scaled_dot_product_flash_attention_backward
    out, lse, *lengths, seed, unused, _ = saved
    return lambda: ran(g, q, k, v, out, lse, *lengths, 0.0, causal, seed, unused)


def cudnn_backward(q, k, v, g, causal):
    """Return a function that calls cuDNN's backward pass."""
    q, k, v, g = batched(q, k, v, g)
    aten = torch.ops.aten
    saved = aten._scaled_dot_product_cudnn_attention(
        q, k, v, None, True, 0.0, causal, False
    )
    ran = aten._scaled_dot_product_cudnn_attention_backward
    out, lse, *lengths, seed, offset, _ = saved
    return lambda: ran(g, q, k, v, out, lse, seed, offset, None, *lengths, 0.0, causal)


def flex(q, k, v):
    """Return a function that calls the compiled FlexAttention."""
    from torch.nn.attention.flex_attention import flex_attention

    q, k, v = batched(q, k, v)
    fast = torch.compile(flex_attention)
    return lambda: fast(q, k, v)


def normal(count, heads, seq):
    """Return random tensors (heads, seq, 128) in bfloat16."""
    shape = heads, seq, WIDTH
    return [torch.randn(shape, device="cuda").bfloat16() for _ in range(count)]


def pause():
    """Return a stopwatch for kernels that draw much power."""
    return BurstStopwatch(most=15) if weft.GPU else None


def rungs(flash_rows, flash_mma, guess=None):
    """Time the learner's kernels beside the fast one and PyTorch's."""

    def forward_rungs():
        """Return the kernels of the ladder and PyTorch's, for 16 heads of 4096."""
        q, k, v = normal(3, HEADS, 4096)
        scaled = q * SCALE128
        array = cuda.as_cuda_array
        wide = [array(x.float()) for x in (q, k, v)]
        out, lse = q.float(), q.new_empty(HEADS, 4096, dtype=torch.float32)
        results = array(out), array(lse)
        rows = specialise(flash_rows, D=WIDTH, SCALE=float32(SCALE128))
        head, tile, warps = WIDTH, 64, 4
        chosen = {
            "HEAD": head,
            "TILE": tile,
            "WARPS": warps,
            "HW": head // 2,
            "PITCH": head // 2 + 4,
            "HEAD8": head // 8,
            "HEAD16": head // 16,
            "TILE8": tile // 8,
            "TILE16": tile // 16,
            "SCALE2": float32(SCALE128 * LOG2E),
            "mma_f16": mma_bf16,
            "f16_pair": bf16_pair,
        }
        bounds = 32 * warps, 1
        warp = specialise(flash_mma, launch_bounds=bounds, **chosen)
        each = tile * head // 8 // bounds[0]
        chosen |= {"copy_words": copy_words_first, "EACH": each}
        early = specialise(flash_mma, launch_bounds=bounds, **chosen)
        words = [array(x.view(torch.int32)) for x in (q, k, v)]
        grid, stream = (4096 // (16 * warps), HEADS), bench.stream
        return {
            "cuDNN": backend("CUDNN_ATTENTION", q, k, v, False),
            "three operations": lambda: torch.softmax(scaled @ k.mT, dim=-1) @ v,
            "math": backend("MATH", q, k, v, False),
            "ordinary cores": lambda: rows[(128, HEADS), 32, stream()](*wide, *results),
            "mma.sync": lambda: warp[grid, bounds[0], stream()](*words, *results),
            "loads first": lambda: early[grid, bounds[0], stream()](*words, *results),
            "TMA + wgmma": Attention(q, k, v, False).forward,
            "flash": backend("FLASH_ATTENTION", q, k, v, False),
            "FlexAttention": flex(q, k, v),
        }

    return bench.compare(
        "forward, 16 heads of 4096",
        forward_rungs,
        baseline="cuDNN",
        flops=4 * HEADS * 4096**2 * WIDTH,
        guess=guess,
        stopwatch=pause(),
    )


def one_by_one(guess=None):
    """Time the three operations together, and each of them alone."""

    def operations():
        q, k, v = normal(3, HEADS, 4096)
        scaled = q * SCALE128
        s = scaled @ k.mT
        p, out = torch.softmax(s, dim=-1), torch.empty_like(q)
        return {
            "all three": lambda: torch.softmax(scaled @ k.mT, dim=-1) @ v,
            "first product": lambda: torch.bmm(scaled, k.mT, out=s),
            "softmax": lambda: torch.softmax(s, dim=-1, out=p),
            "second product": lambda: torch.bmm(p, v, out=out),
        }

    return bench.compare(
        "three operations, 16 heads of 4096",
        operations,
        baseline="all three",
        guess=guess,
        stopwatch=pause(),
    )


def for_all_sizes(title, rows_of, baseline):
    """Compare forward passes for several sizes; return a table for each.

    rows_of: returns the rows, given q, k, v and whether there is a causal mask.
    """

    def table(batch, seq, causal):
        share = 0.5 if causal else 1
        return bench.compare(
            f"{title}, {batch} x 16 heads of {seq}{', causal' if causal else ''}",
            lambda: rows_of(*normal(3, batch * HEADS, seq), causal),
            baseline=baseline,
            flops=share * 4 * batch * HEADS * seq**2 * WIDTH,
            stopwatch=pause(),
        )

    return {
        (seq, causal): table(batch, seq, causal)
        for batch, seq in ((4, 1024), (4, 4096), (1, 16384))
        for causal in (False, True)
    }


def sizes():
    """Compare the forward pass with PyTorch's for several sizes."""

    def rows(q, k, v, causal):
        return {
            "cuDNN": backend("CUDNN_ATTENTION", q, k, v, causal),
            "flash": backend("FLASH_ATTENTION", q, k, v, causal),
            "TMA + wgmma": Attention(q, k, v, causal).forward,
        }

    return for_all_sizes("forward", rows, "cuDNN")


ALONE = {"cuts": 1, "TOGETHER": 1}
STEPS = {  # each with one more change than the one before
    "weights after the wait": {"keys": 128, "BEFORE_WAIT": 0, "RARELY": 0} | ALONE,
    "weights before the wait": {"keys": 128, "RARELY": 0} | ALONE,
    "output scaled rarely": {"keys": 128} | ALONE,
    "tiles of 160 keys": {"keys": 160, "SHORT": 160} | ALONE,
}
SHORTER = {"short last tile": {"keys": 160} | ALONE}


def steps():
    """Compare the forward kernel with and without its last changes.

    The last row has one more change, and tiles of the size that is faster.
    """

    def rows(q, k, v, causal):
        if causal:
            ways = STEPS | {"heads sorted together": {}}
        else:
            ways = STEPS | SHORTER | {"last tiles cut": {}}
        return {
            name: Attention(q, k, v, causal, **changes).forward
            for name, changes in ways.items()
        }

    return for_all_sizes("steps", rows, "weights after the wait")


def backward_of(causal):
    """Compare the backward pass for 4 x 16 heads of 4096."""

    def candidates():
        q, k, v, g = normal(4, 4 * HEADS, 4096)
        ways = {
            "seven products": {"stored": False},
            "TMA + wgmma": {},
        }
        if causal:
            ways["head after head"] = {"together": 1}
        launches = {
            "flash": flash_backward(q, k, v, g, causal),
            "cuDNN": cudnn_backward(q, k, v, g, causal),
        }
        for name, how in ways.items():
            mine = Attention(q, k, v, causal)
            mine.forward()
            mine.prepare(g, **how)
            launches[name] = mine.backward
        return launches

    share = 0.5 if causal else 1
    return bench.compare(
        f"backward, 4 x 16 heads of 4096{', causal' if causal else ''}",
        candidates,
        baseline="flash",
        flops=share * 10 * 4 * HEADS * 4096**2 * WIDTH,
        stopwatch=pause(),
    )


def backward():
    """Compare the backward pass, without and with a mask; return both tables."""
    backward = {causal: backward_of(causal) for causal in (False, True)}
    return backward
