"""The first code that runs in each Jupyter kernel that `make lab` starts.

`lab.py` names this file in PYTHONSTARTUP. After a restart nothing is defined, not even
the code that explains a missing name. This module says which cells to run. It must not
import the package: the import decides whether kernels are simulated, and a cell may
still set WEFT_SIMULATOR.
"""


def _explain_missing_names() -> None:
    """Have IPython explain a NameError in a lab until the package is imported.

    Outside IPython this does nothing. All names are local, because this file's globals
    are the notebook's.
    """
    import builtins

    shell = getattr(builtins, "get_ipython", lambda: None)()
    if shell is None:
        return

    def show(shell, kind, error, trace, tb_offset=None):  # type: ignore[no-untyped-def]
        """Show a traceback, with advice if a lab's first cell has not been run."""
        import os
        import sys
        from pathlib import Path

        lines = shell.InteractiveTB.structured_traceback(
            kind, error, trace, tb_offset=tb_offset
        )
        lab = Path(os.environ.get("JPY_SESSION_NAME", ""))
        try:
            ours = lab.suffix == ".ipynb" and "weft.lab(" in lab.read_text("utf-8")
        except (OSError, ValueError):
            ours = False
        if ours and "weft" not in sys.modules:
            name = getattr(error, "name", None) or "This name"
            lines.append(
                f"`{name}` is not defined yet: the first cell of this lab has not been "
                "run since the kernel started. Run ▸ Run All Above Selected Cell."
            )
        shell._showtraceback(kind, error, lines)
        return lines

    shell.set_custom_exc((NameError,), show)


_explain_missing_names()
del _explain_missing_names
