"""A picture of what ran when: copies in, kernels, copies out.

On a GPU the times come from events around each copy and each launch, in its stream. An
event says when everything before it in its stream is done, not when an engine is free.
So a bar is drawn from the time at which both its stream and its engine were ready.
Without a GPU the times are those of the model.
"""

import html
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from weft import device, markup
from weft.errors import LearnerError
from weft.streams.bench import Bar
from weft.streams.measured import measure
from weft.streams.twin import Bench, Watched

ENGINES = ("copy in", "kernel", "copy out")
MARKS = "0123456789abcdefghijklmnopqrstuvwxyz"
COLOURS = ("#4878a8", "#c9772e", "#2a8f5c", "#8a63a8")  # of bars, by stream
WIDE = 64  # characters of a lane in a terminal


@dataclass(frozen=True, repr=False)
class Timeline:
    """The operations over time: a picture in a notebook, text in a terminal."""

    bars: tuple[Bar, ...]
    source: str
    unit: str = "ms"

    @property
    def ms(self) -> float:
        """The time from the first start to the last end, in ms."""
        return self._end - self._begin

    @property
    def busy(self) -> float:
        """The time that all bars would take one after another, in ms."""
        return sum(b.end - b.start for b in self.bars)

    @property
    def _begin(self) -> float:
        return min((b.start for b in self.bars), default=0.0)

    @property
    def _end(self) -> float:
        return max((b.end for b in self.bars), default=0.0)

    def lanes(self) -> list[tuple[str, list[tuple[int, Bar]]]]:
        """Return each engine with its bars, which are numbered from 0."""
        return [
            (e, list(enumerate(b for b in self.bars if b.engine == e))) for e in ENGINES
        ]

    def _summary(self) -> str:
        if not self.ms:
            return "Nothing ran."
        times = self.busy / self.ms
        return (
            f"{self.ms:.3g} {self.unit}, with {self.busy:.3g} {self.unit} of copies "
            f"and kernels in it: {times:.2f} times as fast as one after the other. "
            f"{self.source}"
        )

    def __repr__(self) -> str:
        scale = WIDE / (self.ms or 1)
        lines = []
        for engine, bars in self.lanes():
            lane = [" "] * WIDE
            for number, bar in bars:
                low = round((bar.start - self._begin) * scale)
                high = max(round((bar.end - self._begin) * scale), low + 1)
                for k in range(low, min(high, WIDE)):
                    lane[k] = MARKS[number % len(MARKS)]
            lines.append(f"{engine:>8} |{''.join(lane)}|")
        return "\n".join([*lines, self._summary()])

    def _repr_html_(self) -> str:
        """Return the picture as HTML: a lane per engine, a bar per copy or launch."""
        wide, tall, left = 640, 34, 74
        scale = (wide - left - 2) / (self.ms or 1)
        parts = []
        for row, (engine, bars) in enumerate(self.lanes()):
            y = 4 + row * tall
            parts.append(
                f'<text x="{left - 8}" y="{y + 18}" text-anchor="end" '
                f'fill="currentColor" font-size="12">{engine}</text>'
                f'<rect x="{left}" y="{y}" width="{wide - left - 2}" height="26" '
                'fill="currentColor" opacity=".07"/>'
            )
            for number, bar in bars:
                x = left + (bar.start - self._begin) * scale
                length = max((bar.end - bar.start) * scale - 1, 1)
                colour = COLOURS[bar.stream % len(COLOURS)]
                parts.append(
                    f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="26" '
                    f'rx="2" fill="{colour}"><title>{engine} {number}, stream '
                    f"{bar.stream}: {bar.start - self._begin:.3g} to "
                    f"{bar.end - self._begin:.3g} {self.unit}</title></rect>"
                )
                if length > 9:
                    parts.append(
                        f'<text x="{x + length / 2:.1f}" y="{y + 17}" fill="#fff" '
                        f'text-anchor="middle" font-size="11">{number}</text>'
                    )
        label = html.escape(self._summary(), quote=True)
        picture = (
            f'<svg viewBox="0 0 {wide} {4 + 3 * tall}" role="img" aria-label="{label}" '
            f'style="width:100%;max-width:{wide}px;font-family:system-ui,sans-serif">'
            f"{''.join(parts)}</svg>"
        )
        below = "Colours are streams, numbers count the pieces. " + self._summary()
        return markup.block([picture, markup.note(below)], label="Timeline")


def timeline(
    function: FunctionType,
    given: Callable[..., tuple[Any, ...]],
    *inputs: Any,
) -> Timeline:
    """Run `function(*given(bench, *inputs))` and show what ran when.

    On a GPU the call runs twice, and events time the second run. Otherwise it runs
    once, in the model, whose bus moves a float32 in a sixteenth of a millisecond.
    Raises LearnerError for anything but a plain function.
    """
    if not isinstance(function, FunctionType):
        raise LearnerError("a timeline is of a plain Python function, the host's side")
    if device.find().usable:
        return Timeline(
            tuple(apart(measure(function, given, inputs))), "Measured here, by events."
        )
    watched = Watched(function)
    watched.call(*given(Bench(watched), *inputs))
    streams = {worker.name: k for k, worker in enumerate(watched.machine.streams)}
    bars = (
        Bar(o.kind, streams[o.worker], o.start, o.end)
        for o in watched.machine.operations
        if o.kind != "host"
    )
    return Timeline(tuple(bars), "No GPU here: these are the times of a model.")


def apart(bars: Iterable[Bar]) -> list[Bar]:
    """Return the bars, ordered by their ends, without overlaps on an engine.

    A bar is shortened if it would begin before the end of the previous one on its
    engine.
    """
    found: list[Bar] = []
    free = dict.fromkeys(ENGINES, -np.inf)
    for bar in sorted(bars, key=lambda b: b.end):
        start = min(max(bar.start, free[bar.engine]), bar.end)
        free[bar.engine] = bar.end
        found.append(Bar(bar.engine, bar.stream, float(start), bar.end))
    return found


__all__ = ["Bar", "Timeline", "apart", "timeline"]
