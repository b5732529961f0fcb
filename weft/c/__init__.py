"""C in a notebook: cells of C, a terminal for them, and checks that run apart.

    %%c swap
    void swap(int *a, int *b) { ... }

keeps the cell as `swap` and saves it as `swap.c`. `check(swap, ...)` compiles it with
the address sanitizer and the one for undefined behaviour, around it a program that
calls (`driver`), runs that in a process of its own (`running`), and words what the
sanitizers (`reports`), the compiler (`words`) or make (`makefile`) have to say.

Importing this registers the magics `%%c` and `%%makefile`.
"""

from typing import Any

from weft.c.checking import check
from weft.c.makefile import Step
from weft.c.source import Source
from weft.c.workshop import cell, folder, register, terminal

__all__ = ["Source", "Step", "cell", "check", "folder", "terminal"]


def _notebook() -> Any:
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    shell: Any = get_ipython()
    return shell


if (_shell := _notebook()) is not None:
    register(_shell)
