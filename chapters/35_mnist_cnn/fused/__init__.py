"""A training step of the network of chapter 35: six kernels, one CUDA graph.

    net = cnn.Fused(parameters, (images, labels), order, 1024, rate=0.1)
    graph = net.graph()        # two steps
    graph.replay()

The kernels are in `forward`, `linear`, `backward` and `update`, in the order of a step;
where they put things, in `layout`. With batch normalisation there are seven: `moments`
comes first, and `norm_forward`, `norm_backward` and `norm_update` have the others.
`own` lets the learner's kernels replace some of them.
"""

from .step import Fused

__all__ = ["Fused"]
