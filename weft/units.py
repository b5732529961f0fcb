"""Times, rates and sizes as the course writes them, with three significant digits."""

import math

DASH = "–"  # for a value that was not measured


def digits(value: float, count: int = 3) -> str:
    """Format a number with about `count` significant digits, such as 0.126 or 51.0."""
    if not math.isfinite(value):
        return DASH
    if value == 0:
        return "0"
    places = count - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    if rounded and math.floor(math.log10(abs(rounded))) > math.floor(
        math.log10(abs(value))
    ):
        places -= 1  # 9.996 became 10.00: use one decimal place fewer
    return f"{rounded:.{max(places, 0)}f}"


def time(ms: float) -> str:
    """Format a time, given in ms, with its unit.

    The unit is µs below 0.1 ms, s from 10 s on, and otherwise ms. A dash stands for a
    time that is not finite.
    """
    if not math.isfinite(ms):
        return DASH
    if ms < 0.1:
        return f"{digits(ms * 1e3)} µs"
    if ms >= 1e4:
        return f"{digits(ms / 1e3)} s"
    return f"{digits(ms)} ms"


def scale(per_second: float, unit: str) -> tuple[float, str]:
    """Return the unit that suits a rate: (amount per second, name).

    unit: "B" for bytes or "FLOP". Rates from 1e12 up are given in TB/s or TFLOP/s, and
    those below that in GB/s or GFLOP/s.
    """
    if math.isfinite(per_second) and per_second >= 1e12:
        return 1e12, f"T{unit}/s"
    return 1e9, f"G{unit}/s"


def rate(per_second: float, unit: str) -> str:
    """Format a rate with its unit, such as `4.26 TB/s` or `812 GFLOP/s`."""
    if not math.isfinite(per_second):
        return DASH
    one, name = scale(per_second, unit)
    return f"{digits(per_second / one)} {name}"


def size(count: float) -> str:
    """Format a size in bytes with a decimal unit, as in `141 GB` or `60 MB`."""
    for one, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= one:
            return f"{digits(count / one)} {name}"
    return f"{count:.0f} B"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage, such as `94 %` or `0.31 %`."""
    if not math.isfinite(fraction):
        return DASH
    value = fraction * 100
    return f"{value:.0f} %" if value >= 9.95 else f"{digits(value, 2)} %"
