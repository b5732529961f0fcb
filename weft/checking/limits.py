"""The limits an exercise can set, in one table, so that a mistyped name is an error.

In `check(..., limits={"sectors": 4})` each key is a row of `limits.toml`, and belongs
to one kind of exercise. To add a limit, add its row, and check it in that kind's
stages.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

KERNEL, HOST, TORCH = "a kernel", "host code", "an operator of PyTorch"
PROGRAM = "a program of a grid"
LIBRARY = "code that calls a library"
RANKS = "a function of several ranks"


@dataclass(frozen=True)
class Limit:
    """A limit's kind of exercise (`room`), and its meaning, including its unit."""

    room: str
    meaning: str


_table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
LIMITS = {
    limit: Limit(room, meaning)
    for room, limits in _table.items()
    for limit, meaning in limits.items()
}


def validated(name: str, room: str, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits of an exercise as a dict, if all are known.

    Raises ValueError for a limit that this kind of exercise does not have.
    """
    for key in limits:
        known = LIMITS.get(key)
        if known is not None and known.room == room:
            continue
        mine = [k for k, limit in LIMITS.items() if limit.room == room]
        close = get_close_matches(key, mine, 1)
        meant = f'; did you mean "{close[0]}"?' if close else ""
        has = ", ".join(mine) or "none"
        what = f"is a limit of {known.room}" if known else "is no limit"
        raise ValueError(
            f'check({name}, ...): "{key}" {what}{meant} The limits of {room}: {has}.'
        )
    if "otherwise" in limits:
        validated(name, room, limits["otherwise"])
    return dict(limits)
