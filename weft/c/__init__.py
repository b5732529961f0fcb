"""C in a notebook: cells of C, a terminal for them, and checks in another process.

    %%c swap
    void swap(int *a, int *b) { ... }

keeps the cell as `swap` and saves it as `swap.c`. `check(swap, ...)` compiles it with
the address sanitizer and the undefined-behaviour sanitizer, inside a program that calls
the function (`driver`), runs this program in a separate process (`running`), and
explains what the sanitizers (`reports`), the compiler (`words`) or make (`makefile`)
report.

Importing this package registers the magics `%%c` and `%%makefile`.
"""

from typing import Any

from weft.c.makefile import Step
from weft.c.room import ROOM
from weft.c.source import Source
from weft.c.workshop import cell, folder, register, terminal
from weft.checking.room import judge
from weft.checking.verdict import Verdict

__all__ = ["Source", "Step", "cell", "check", "folder", "terminal"]


def check(source: Any, prototype: str = "", **exercise: Any) -> Verdict:
    """Check a `%%c` or `%%makefile` cell, and say what is wrong with it.

    prototype, exercise: the fields of `weft.c.room.CExercise`: spec, inputs, sizes,
    call, tolerance; files and steps for a Makefile.

    None of the learner's code runs in this process. Returns a Verdict, which is true if
    all is well. With WEFT_STRICT=1 in the environment, a failure raises CheckFailed.
    Raises ValueError if the exercise itself is wrong.
    """
    asked = {"prototype": prototype} if prototype else {}
    return judge(ROOM, source, asked | exercise)


def _notebook() -> Any:
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    shell: Any = get_ipython()
    return shell


if (_shell := _notebook()) is not None:
    register(_shell)
