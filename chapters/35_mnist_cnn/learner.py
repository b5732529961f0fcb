"""The kernels that the learner has written, for the network that launches them.

learner.use(conv_bias=conv_bias, relu_pool=relu_pool)    # learner.conv_bias, ...
"""

from typing import Any


def use(**kernels: Any) -> None:
    """Let the network launch these kernels, each under its name."""
    globals().update(kernels)
