"""Time chapter 24's attention beside cuDNN and FlashAttention-4, and write a table.

python factors.py [--out FOLDER], on a machine with a Hopper GPU, Numba, PyTorch, and
flash-attn-4 with the packages that it needs.
"""

import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab  # noqa: E402
from timed import Experiment, record  # noqa: E402

SIZES = (4, 1024), (4, 4096), (1, 16384)
HEADS = 16


def by_sequence(*tensors: Any) -> list[Any]:
    """Return copies (batch, seq, 16, 128) of tensors (heads, seq, 128)."""
    return [x.transpose(1, 2).contiguous() for x in of.batched(*tensors)]


def forward(batch: int, seq: int, causal: bool) -> Experiment:
    """Return the table of the forward pass."""
    held: dict[str, Any] = {}

    def launches() -> dict[str, Callable[[], Any]]:
        q, k, v = of.normal(3, batch * HEADS, seq)
        theirs, mine = by_sequence(q, k, v), of.Attention(q, k, v, causal)
        cudnn = of.backend("CUDNN_ATTENTION", q, k, v, causal)
        held.update(mine=mine, wanted=cudnn())
        with torch.no_grad():
            held["four"] = first(flash_attn_func(*theirs, causal=causal))
        return {
            "cuDNN": cudnn,
            "FlashAttention-4": lambda: flash_attn_func(*theirs, causal=causal),
            "TMA + wgmma": mine.forward,
        }

    def right(name: str) -> None:
        found = {
            "cuDNN": lambda: held["wanted"],
            "FlashAttention-4": lambda: held["four"].transpose(1, 2),
            "TMA + wgmma": lambda: of.batched(held["mine"].out)[0],
        }[name]()
        assert (found.float() - held["wanted"].float()).abs().max() < 0.03, name

    mask = ", causal" if causal else ""
    return Experiment(f"forward, {batch} x {seq}{mask}", launches, "cuDNN", right)


def backward(batch: int, seq: int, causal: bool) -> Experiment:
    """Return the table of the backward pass."""

    def launches() -> dict[str, Callable[[], Any]]:
        q, k, v, g = of.normal(4, batch * HEADS, seq)
        mine, again = (of.Attention(q, k, v, causal) for _ in range(2))
        for each in mine, again:
            each.forward()
            each.prepare(g, stored=each is mine)
        theirs, (above,) = by_sequence(q, k, v), by_sequence(g)
        out, logs = flash_attn_func(*theirs, causal=causal, return_lse=True)[:2]

        def four(deterministic: bool) -> None:
            _flash_attn_bwd(
                *(*theirs, out, above, logs),
                causal=causal,
                deterministic=deterministic,
            )

        return {
            "cuDNN": of.cudnn_backward(q, k, v, g, causal),
            "FlashAttention-4": lambda: four(False),
            "FlashAttention-4, deterministic": lambda: four(True),
            "TMA + wgmma, seven products": again.backward,
            "TMA + wgmma": mine.backward,
        }

    mask = ", causal" if causal else ""
    return Experiment(
        f"backward, {batch} x {seq}{mask}", launches, "cuDNN", lambda name: None
    )


def first(found: Any) -> Any:
    """Return the output of FlashAttention-4, which may come with the logarithms."""
    return found[0] if isinstance(found, tuple) else found


def made_by() -> str:
    """Return the versions of the opponents, a line of the recording."""
    names = "flash-attn-4", "nvidia-cutlass-dsl"
    versions = [f"{name} {metadata.version(name)}" for name in names]
    return f"# {', '.join(versions)}, cuDNN {torch.backends.cudnn.version()}\n"


if __name__ == "__main__":
    WANTED = "normal", "batched", "backend", "cudnn_backward", "Attention"
    of = lab("24_attention", *WANTED)
    import torch
    from flash_attn.cute import flash_attn_func
    from flash_attn.cute.interface import _flash_attn_bwd

    tables = [
        make(*size, causal)
        for make in (forward, backward)
        for size in SIZES
        for causal in (False, True)
    ]
    record(__doc__, HERE, tables, made_by(), bursts=True)
