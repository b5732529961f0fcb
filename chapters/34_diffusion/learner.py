"""What the learner has written, for the worklog that measures it.

learner.use(guided=guided, phases=phases)    # learner.guided, learner.phases
"""

from typing import Any


def use(**functions: Any) -> None:
    """Let the worklog call these functions, each under its name."""
    globals().update(functions)
