"""Small pieces of English: how many, a capital, a full stop, a list."""

from collections.abc import Iterable


def several(number: float, what: str) -> str:
    """Write how many: `1 load`, `1,024 loads`, `2.5 sectors`."""
    shown = f"{number:,}" if isinstance(number, int) else f"{number:.3g}"
    return f"{shown} {what}{'s' * (shown != '1')}"


def capital(text: str) -> str:
    """Begin with a capital."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Begin with a capital, end with a full stop."""
    return capital(text) + ("" if text.endswith((".", "?")) else ".")


def joined(parts: Iterable[object]) -> str:
    """Write a list: '3', '3 and 4', '3, 4 and 7'."""
    *most, last = map(str, parts)
    return f"{', '.join(most)} and {last}" if most else last
