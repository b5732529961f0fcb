"""What PyTorch and others have for decoding, each called as it is fastest."""

import contextlib
import inspect
import io

import weft

from .kernels import WIDE
from .serving import paged

if weft.GPU:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

TUNED = "max-autotune-no-cudagraphs"  # the steps are captured in graphs of ours
LONG_PAGE = 256  # keys per page that PyTorch's FlashAttention takes


def product(layer, backend, as_rows):
    """Return a call of one backend of `scaled_dot_product_attention`.

    as_rows: pass the queries of a group as rows of one head, with no mask between
    them; otherwise as heads, with `enable_gqa`.
    """
    seqs, attend = len(layer.lengths), torch.nn.functional.scaled_dot_product_attention
    rows = layer.heads // layer.kv_heads if as_rows else 1
    q = layer.q.view(seqs, -1, rows, WIDE)

    def run():
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return attend(q, layer.k, layer.v, enable_gqa=not as_rows)

    return run


def masked(layer):
    """Return `scaled_dot_product_attention` of padded sequences, with a mask."""
    seqs, attend = len(layer.lengths), torch.nn.functional.scaled_dot_product_attention
    q = layer.q.view(seqs, layer.kv_heads, -1, WIDE)
    number = torch.arange(layer.longest, device="cuda")
    mask = (number < layer.used[:, None])[:, None, None]
    mask = mask.expand(-1, layer.kv_heads, q.shape[2], -1)
    return lambda: attend(q, layer.k, layer.v, attn_mask=mask)


def flex(layers):
    """Return calls of one compiled FlexAttention, with a block mask if ragged."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch._dynamo.reset()
    one, blocks = layers[0], None
    seqs, used = len(one.lengths), one.used
    if min(one.lengths) < one.longest:

        def inside(b, h, q, k):
            return k < used[b]

        blocks = create_block_mask(inside, seqs, None, 1, one.longest, device="cuda")
    fast = torch.compile(flex_attention, dynamic=False, mode=TUNED)

    def call(layer):
        q = layer.q.view(seqs, layer.heads, 1, WIDE)
        return lambda: fast(q, layer.k, layer.v, block_mask=blocks, enable_gqa=True)

    return [call(layer) for layer in layers]


def varlen(layer):
    """Return PyTorch's FlashAttention for sequences one after the other."""
    from torch.nn.attention.varlen import varlen_attn

    used = [slice(None, n) for n in layer.lengths]
    k, v = (
        torch.cat([x[seq, :, end].transpose(0, 1) for seq, end in enumerate(used)])
        for x in (layer.k, layer.v)
    )
    starts = torch.nn.functional.pad(layer.used.cumsum(0, dtype=torch.int32), (1, 0))
    each = torch.arange(len(used) + 1, device="cuda", dtype=torch.int32)
    known = inspect.signature(varlen_attn).parameters
    options = {"enable_gqa": True} if "enable_gqa" in known else {}
    most = 1, layer.longest
    return lambda: varlen_attn(layer.q, k, v, each, starts, *most, **options)


def flash_paged(layer):
    """Return PyTorch's FlashAttention for pages of `LONG_PAGE` keys."""
    from torch.nn.attention.varlen import varlen_attn

    k, v, table = paged(layer, LONG_PAGE, keys_first=True)
    each = torch.arange(len(layer.lengths) + 1, device="cuda", dtype=torch.int32)
    options = {"seqused_k": layer.used, "block_table": table, "enable_gqa": True}
    most = 1, layer.longest
    return lambda: varlen_attn(layer.q, k, v, each, None, *most, **options)


def flash4(layer, splits):
    """Return FlashAttention-4. splits: of the keys, 0 for its own choice."""
    from flash_attn.cute import flash_attn_func

    q = layer.q[:, None]
    k, v = layer.k.transpose(1, 2), layer.v.transpose(1, 2)

    def run():
        out = flash_attn_func(q, k, v, num_splits=splits)
        return out[0] if isinstance(out, tuple) else out

    return run


def uniform(layers):
    """Return the libraries' steps for sequences of one length, by name."""
    return {
        "flash": each(layers, product, "FLASH_ATTENTION", False),
        "flash, rows": each(layers, product, "FLASH_ATTENTION", True),
        "cuDNN": each(layers, product, "CUDNN_ATTENTION", False),
        "cuDNN, rows": each(layers, product, "CUDNN_ATTENTION", True),
        "efficient, rows": each(layers, product, "EFFICIENT_ATTENTION", True),
        "FlexAttention": lambda: flex(layers),
        "flash, paged": each(layers, flash_paged),
        "FlashAttention-4": each(layers, flash4, 1),
        "FlashAttention-4, split": each(layers, flash4, 0),
    }


def of_any_length(layers):
    """Return the libraries' steps for ragged sequences, by name."""
    return {
        "padded, masked": each(layers, masked),
        "flash, varlen": each(layers, varlen),
        "flash, paged": each(layers, flash_paged),
        "FlexAttention": lambda: flex(layers),
    }


def each(layers, make, *options):
    """Return a function that makes the calls for all layers."""
    return lambda: [make(layer, *options) for layer in layers]


def graphed(calls, wanted):
    """Return the replay of a CUDA graph of these calls, one per layer.

    wanted: the right output of the first and the last sequence. Raises ValueError for
    another one.
    """
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    reports = contextlib.redirect_stderr(io.StringIO())  # of what was tuned
    with torch.cuda.stream(side), reports:  # compiles, allocates before the capture
        for _ in range(2):
            for call in calls:
                out = call()
        first = calls[0]()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    found = first.reshape(-1, *wanted.shape[1:])[[0, -1]].double()
    error = ((found - wanted).norm() / wanted.norm()).item()
    if not error < 1e-2:
        raise ValueError(f"its relative error is {error:.1g}")

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            out = call()
    graph.kept = calls, out  # a graph knows addresses: keep the tensors behind them
    return graph.replay


def available(steps, wanted):
    """Return the graphs of the steps that run here; say why others are left out."""
    rows = {}
    for name, make in steps.items():
        try:
            rows[name] = graphed(make(), wanted)
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            print(f"{name} is left out: {type(error).__name__}: {reason[:160]}")
    return rows
