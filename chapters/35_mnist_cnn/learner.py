"""The kernels that the learner has written, for the network that launches them.

learner.use(conv_bias=conv_bias, relu_pool=relu_pool)    # learner.conv_bias, ...
"""

from typing import Any

from weft.starters import has_stub

in_use: dict[str, Any] = {}


def use(**kernels: Any) -> None:
    """Let the network launch these kernels, each under its name."""
    globals().update(kernels)
    in_use.update(kernels)


def report_stubs() -> None:
    """Print which of the kernels are still the starters, which do nothing."""
    names = [f"`{name}`" for name, kernel in in_use.items() if has_stub(kernel)]
    if names:
        print("Not written yet:", ", ".join(names))
        print("Until then, the numbers below mean nothing.")
