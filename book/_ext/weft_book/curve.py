"""Rates over sizes: a line for each kernel, drawn from the rows of several cases.

The sizes stand evenly spaced. Lines differ in dashes and marks as well as in colour;
their colours are the page's.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape

from .results import PREFIXES, MissingResult, Results

WIDTH, HEIGHT = 420.0, 264.0  # all lengths in the units of the viewBox
LEFT, TOP, BOTTOM = 30.0, 26.0, 46.0
FONT, LETTER = 15.0, 7.9  # of the font: its size, and about the width of a letter
LINE = 18.0  # from one name to the next, at least
TICKS = 6  # at most, above zero
STYLES = (("circle", ""), ("square", "7 4"), ("triangle", "2 4"))
RATE = re.compile(r"([TGMk]?)((?:B|FLOP)/s)")

Points = Sequence[tuple[float, float]]


def rates(
    measured: Results, case: str, sizes: Sequence[str], names: Sequence[str]
) -> tuple[dict[str, list[float]], str]:
    """Return name → a rate for each size, and the unit that suits the largest.

    case: with {} where the size stands. Raises MissingResult.
    """
    found: dict[str, list[float]] = {}
    units: set[str] = set()
    for name in names:
        found[name] = []
        for size in sizes:
            row = measured.find(case.replace("{}", size), name)
            known = RATE.fullmatch(row.unit or "")
            if row.value is None or known is None:
                raise MissingResult(f"{row.case!r}, {name!r} has no rate")
            units.add(known[2])
            found[name].append(row.value * PREFIXES[known[1]])
    if len(units) > 1:
        raise MissingResult(f"rates in different units: {', '.join(sorted(units))}")
    most = max(max(line) for line in found.values())
    prefix = max((p for p in PREFIXES if PREFIXES[p] <= most), key=PREFIXES.__getitem__)
    scaled = {
        name: [rate / PREFIXES[prefix] for rate in line] for name, line in found.items()
    }
    return scaled, prefix + units.pop()


def ticks(most: float) -> list[float]:
    """Return round numbers from 0 to at least `most`."""
    power = 1.0
    while power * 10 <= most:
        power *= 10
    steps = [power * k for k in (0.1, 0.2, 0.5, 1, 2, 5)]
    step = next(s for s in steps if s * TICKS >= most)
    count = 1
    while step * count < most:
        count += 1
    return [step * k for k in range(count + 1)]


def apart(places: Mapping[str, float], least: float) -> dict[str, float]:
    """Move names down, in order, until they are `least` apart."""
    moved: dict[str, float] = {}
    last = float("-inf")
    for name, place in sorted(places.items(), key=lambda item: item[1]):
        last = moved[name] = max(place, last + least)
    return moved


def mark(shape: str, x: float, y: float) -> str:
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6"/>'
    if shape == "square":
        return f'<path d="M{x - 3.3:.1f} {y - 3.3:.1f}h6.6v6.6h-6.6z"/>'
    return f'<path d="M{x:.1f} {y - 4.4:.1f}l4.4 7.6h-8.8z"/>'


def size_text(size: str) -> str:
    """Return a size as SVG text, 2^16 with its exponent raised."""
    base, _, power = size.partition("^")
    if not power:
        return escape(size)
    return f'{escape(base)}<tspan class="power" dy="-5">{escape(power)}</tspan>'


def line(number: int, points: Points) -> str:
    shape, dashes = STYLES[number]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    marks = "".join(mark(shape, x, y) for x, y in points)
    return f'<g class="line-{number}"><polyline points="{joined}"{dashed}/>{marks}</g>'


def picture(
    lines: Mapping[str, Sequence[float]],
    sizes: Sequence[str],
    unit: str,
    axis: str,
    alt: str,
) -> str:
    """Return the SVG. lines: name → a rate in `unit` for each size; three at most."""
    right = WIDTH - max(len(name) for name in lines) * LETTER - 30
    low = HEIGHT - BOTTOM
    scale = ticks(max(max(rates) for rates in lines.values()))

    def x(k: int) -> float:
        return LEFT + 8 + (right - LEFT - 8) * k / (len(sizes) - 1)

    def y(rate: float) -> float:
        return low - (low - TOP) * rate / scale[-1]

    parts = [f'<text x="0" y="12" class="axis">{escape(unit)}</text>']
    for tick in scale:
        parts.append(f'<path class="grid" d="M{LEFT:g} {y(tick):.1f}H{right:.1f}"/>')
        parts.append(
            f'<text x="{LEFT - 8:g}" y="{y(tick) + 5:.1f}" text-anchor="end">'
            f"{tick:g}</text>"
        )
    for k, size in enumerate(sizes):
        parts.append(
            f'<text x="{x(k):.1f}" y="{low + 20:g}" text-anchor="middle">'
            f"{size_text(size)}</text>"
        )
    middle = (LEFT + right) / 2
    parts.append(
        f'<text x="{middle:.1f}" y="{HEIGHT - 6:g}" text-anchor="middle" class="axis">'
        f"{escape(axis)}</text>"
    )
    names = apart({name: y(rates[-1]) for name, rates in lines.items()}, LINE)
    for number, (name, rates) in reversed(list(enumerate(lines.items()))):
        parts.append(line(number, [(x(k), y(rate)) for k, rate in enumerate(rates)]))
        sign = mark(STYLES[number][0], right + 18, names[name])
        parts.append(
            f'<g class="line-{number}">{sign}</g>'
            f'<text class="name" x="{right + 28:.1f}" y="{names[name] + 5:.1f}">'
            f"{escape(name)}</text>"
        )
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(alt)}"'
        f' font-size="{FONT:g}">{"".join(parts)}</svg>'
    )
