"""Shorter ways through the course, as listed in `routes.toml`."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from weft.errors import LearnerError


@dataclass(frozen=True)
class Route:
    """A selection of labs in order. afterwards: what a learner can do after them."""

    name: str
    title: str
    afterwards: str
    labs: tuple[str, ...]


def routes() -> list[Route]:
    """Return the routes, in the order in which they are offered."""
    file = Path(__file__).with_suffix(".toml")
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return [Route(**entry | {"labs": tuple(entry["labs"])}) for entry in data["routes"]]


def find(name: str) -> Route:
    """Return the route called `name`. Raises LearnerError if there is none."""
    found = {route.name: route for route in routes()}
    if name not in found:
        known = ", ".join(f'"{known}"' for known in found)
        raise LearnerError(f'there is no route "{name}". The routes: {known}')
    return found[name]
