"""A figure's place in a page: its first state, and what is there meanwhile.

In the book `figures/load.js` wakes it. Elsewhere, where no script runs, what is
there stays: a still picture, or a table.
"""

import json
from html import escape
from typing import Any

MOST_SAVED = 6  # requests of one access that a saved notebook keeps


def place(name: str, state: dict[str, Any], label: str, meanwhile: str) -> str:
    """Return the HTML of a place for figure `name`; `meanwhile` is HTML too."""
    data = json.dumps(state, separators=(",", ":")).replace("</", "<\\/")
    return (
        f'<div class="weft-play" data-figure="{name}" data-label="{escape(label)}">'
        f'<script type="application/json">{data}</script>{meanwhile}</div>'
    )


def saved(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state that is small enough to be kept in a notebook."""
    if "accesses" not in state:
        return state
    few = [a | {"shown": a["shown"][:MOST_SAVED]} for a in state["accesses"]]
    return state | {"accesses": few}
