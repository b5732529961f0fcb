"""Interactive figures in a notebook: the book's, and those of your own kernels.

    from weft import explore
    from weft.exploring import figure

A figure is a JavaScript module in the folder `figures`; the book's pages and notebooks
share it. Without widgets, a kernel's accesses are shown as a table.
"""

from collections.abc import Callable
from typing import Any

from weft.exploring.linking import names
from weft.exploring.report import Report, choose, copied, named, settled
from weft.meaning import CLUSTER, clustered, python_function

__all__ = ["choose", "explore", "figure", "names"]


def figure(name: str, **state: Any) -> Any:
    """Return one of the book's figures, in an initial state of your choice.

    Raises ValueError for a name that is not among `names()`.
    """
    if name not in names():
        raise ValueError(f"no figure {name!r}; there are {', '.join(names())}")
    return _shown(name, state)


def explore(kernel: Any) -> "Explorer":
    """Show what a kernel does to memory: `explore(kernel)[grid, block](*args)`.

    Without brackets, `explore(kernel)` shows the launch at which the kernel's last
    check stopped because of a wrong value.

    The launch runs in the simulator, even if there is a GPU, so keep it small. What the
    kernel writes is in its arguments afterwards, as after any launch. Pass
    `choose(1, 2, 4)` instead of a number to get a control: each choice is a separate
    launch, with the arrays as they were before the first launch.
    """
    return Explorer(kernel)


class Explorer:
    """A kernel to explore, before its launch.

    Displaying it shows the launch, if any, at which the kernel's last check stopped.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def stopped(self) -> Any:
        """Return the figure of the launch at which the kernel's last check stopped.

        Returns None if there is no such launch, or if the current kernel cannot run on
        that launch's data.
        """
        from weft.kernels.trial import last_stopped
        from weft.simulator import Fault

        trial = last_stopped(self._kernel)
        if trial is None:
            return None
        try:
            with clustered(trial.exercise.cluster):
                return self[trial.config](*trial.case.inputs, *trial.fresh())
        except Fault:
            return None

    def __repr__(self) -> str:
        shown = self.stopped()
        if shown is not None:
            return repr(shown)
        name = getattr(self._kernel, "__name__", "kernel")
        return (
            f"launch it to see what it does: explore({name})[grid, block](*arguments)"
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        shown = self.stopped()
        if hasattr(shown, "_repr_mimebundle_"):
            return shown._repr_mimebundle_(**kwargs)
        text = {"text/plain": repr(self) if shown is None else repr(shown)}
        return text if shown is None else text | {"text/html": shown._repr_html_()}

    def __getitem__(self, config: Any) -> Callable[..., Any]:
        function = python_function(self._kernel) or self._kernel
        cluster = CLUSTER.get()

        def launch(*args: Any) -> Any:
            choices = named(function, config, args)
            before = copied(args) if choices else args
            first = self._run(function, settled(config, {}), settled(args, {}))

            def again(chosen: dict[str, Any]) -> dict[str, Any]:
                values = {choices[name]: value for name, value in chosen.items()}
                given = settled(copied(before), values)
                with clustered(cluster):
                    return self._run(function, settled(config, values), given)

            controls = {name: choice.values for name, choice in choices.items()}
            return _shown("trace", first, controls, again)

        return launch

    def _run(self, function: Any, config: Any, args: Any) -> dict[str, Any]:
        from weft.exploring.accesses import state_of
        from weft.simulator import record

        trace, _ = record(self._kernel, config, args, rows=True)
        return state_of(trace, function)


def _shown(
    name: str,
    state: dict[str, Any],
    controls: dict[str, tuple[Any, ...]] | None = None,
    again: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> Any:
    """Return figure `name` as a widget, or as a report if widgets are not installed.

    controls: the values that each control offers, by its name. again: takes the chosen
    values, by the names of the controls, and returns the figure's new state.
    """
    report = Report(name, state)
    try:
        from weft.exploring.widget import Controlled, Figure
    except ModuleNotFoundError:
        return report
    shown = Figure(name, state, report._repr_html_(), repr(report))
    return Controlled(shown, controls, again) if controls and again else shown
