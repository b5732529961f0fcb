"""A training step of the network of chapter 35: six kernels, one CUDA graph.

    net = cnn.Fused(parameters, (images, labels), order, 1024, rate=0.1)
    graph = net.graph()        # two steps
    graph.replay()

The kernels are in `forward`, `linear`, `backward` and `update`, in the order of a step;
where they put things, in `layout`.
"""

from weft.cnn.step import Fused

__all__ = ["Fused"]
