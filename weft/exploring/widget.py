"""A figure as a widget: anywidget's model over the module that the book uses."""

from typing import Any

import anywidget
import traitlets

from weft.exploring.linking import linked, style


class Figure(anywidget.AnyWidget):
    """One figure; `state` is what its controls change, and what you may set."""

    state = traitlets.Dict().tag(sync=True)

    def __init__(self, name: str, state: dict[str, Any]) -> None:
        super().__init__(_esm=linked(name), _css=style(), state=state)
