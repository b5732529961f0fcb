"""A figure as a widget: anywidget runs the JavaScript module that the book uses."""

from collections.abc import Callable
from html import escape
from typing import Any

import anywidget
import ipywidgets
import traitlets

from weft.exploring.linking import linked, style


class Figure(anywidget.AnyWidget):
    """One figure, whose `state` both its controls and your code can change.

    html: what is shown without widgets. text: what is shown in a terminal.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(
        self, name: str, state: dict[str, Any], html: str = "", text: str = ""
    ) -> None:
        self._html, self._text = html, text or f"figure {name}"
        super().__init__(_esm=linked(name), _css=style(), state=state)

    def __repr__(self) -> str:
        return self._text

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        found = super()._repr_mimebundle_(**kwargs)
        data, more = found if isinstance(found, tuple) else (found, {})
        data = dict(data or {}) | {"text/plain": self._text}
        if self._html:
            data["text/html"] = self._html
        return data, more


class Controlled(ipywidgets.VBox):  # type: ignore[misc]
    """A figure with controls above it that change what it shows.

    again: returns the figure's state for the values of the controls.
    """

    def __init__(
        self,
        figure: Figure,
        controls: dict[str, tuple[Any, ...]],
        again: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        """Make a slider for each control."""
        self.figure, self._again = figure, again
        self.controls = {
            name: ipywidgets.SelectionSlider(
                options=[(str(value), value) for value in values],
                description=name,
                continuous_update=False,
                style={"description_width": "initial"},
            )
            for name, values in controls.items()
        }
        self._trouble = ipywidgets.HTML()
        for control in self.controls.values():
            control.observe(self._changed, names="value")
        super().__init__([*self.controls.values(), self._trouble, figure])

    def _changed(self, _: Any) -> None:
        before = self.figure.state
        try:
            state = self._again({n: c.value for n, c in self.controls.items()})
        except Exception as error:  # a learner's kernel may do anything
            self._trouble.value = f"<pre>{escape(f'{error}')}</pre>"
            return
        self._trouble.value = ""
        same = len(state["accesses"]) == len(before["accesses"])
        self.figure.state = state | ({"chosen": before["chosen"]} if same else {})

    def __repr__(self) -> str:
        return repr(self.figure)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data = dict(super()._repr_mimebundle_(**kwargs) or {})
        kept, _ = self.figure._repr_mimebundle_(**kwargs)
        return data | {mime: kept[mime] for mime in ("text/plain", "text/html")}
