"""How far the fast kernel's results are from float64's."""

import weft

from .measure import wanted
from .serving import Decoder, Layer

if weft.GPU:
    import torch

CASES = (
    ([4096], 32, 8),
    ([1, 17, 1000, 4096], 32, 8),
    ([4096] * 40, 32, 8),
    ([33, 4096], 64, 8),
)


def report():
    """Compare with float64, whole and in pages, and 20 runs bit by bit."""
    if weft.on_gpu("`decode` takes too long in the simulator"):
        torch.manual_seed(37)
        print(f"{'lengths':24} heads  group  whole    paged    20 runs alike")
        for lengths, heads, kv_heads in CASES:
            layer = Layer(lengths, heads, kv_heads)
            right, errors, alike = wanted(layer), [], True
            for cache in (layer.whole(), layer.in_pages):
                decoder = Decoder(layer, cache)
                first = None
                for _ in range(20):
                    decoder.out.fill_(float("nan"))
                    found = decoder.run().clone()
                    first = found if first is None else first
                    alike = alike and torch.equal(first, found)
                found = first[[0, -1]].double()
                errors.append(((found - right).norm() / right.norm()).item())
            name = (
                str(lengths) if len(lengths) < 6 else f"{len(lengths)} x {lengths[0]}"
            )
            sizes = f"{heads:5}  {heads // kv_heads:5}"
            print(f"{name:24} {sizes}  {errors[0]:.1e}  {errors[1]:.1e}  {alike}")
            assert max(errors) < 2e-3
            assert alike
