"""A figure as a widget: anywidget's model over the module that the book uses."""

from typing import Any

import anywidget
import traitlets

from weft.exploring.linking import linked, style


class Figure(anywidget.AnyWidget):
    """One figure; `state` is what its controls change, and what you may set.

    html: what is shown where there are no widgets; text: in a terminal.
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
