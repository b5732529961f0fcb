"""Small pieces of English: how many, a capital, a full stop, a list."""

from collections.abc import Iterable


def several(number: float, what: str) -> str:
    """Write how many: `1 load`, `1,024 loads`, `2.5 sectors`, `3 passes`."""
    shown = f"{number:,}" if isinstance(number, int) else f"{number:.3g}"
    plural = "es" if what.endswith("ss") else "s"
    return f"{shown} {what}{plural * (shown != '1')}"


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


def rows(text: str) -> list[list[str]]:
    """Read a table of texts: each row is a key, and what belongs to it.

    A line without indentation is a key; one that ends with `|` goes on in the next. A
    line with four spaces begins the next text of its row, one with more continues it.

    >>> rows("first\\n    One\\n      text.\\n    Another.\\nsecond\\n    A third.")
    [['first', 'One text.', 'Another.'], ['second', 'A third.']]
    """
    found: list[list[str]] = []
    for line in filter(None, text.splitlines()):
        if not line.startswith(" ") and found and found[-1][-1].endswith("|"):
            found[-1][-1] += line
        elif not line.startswith(" "):
            found.append([line])
        elif line.startswith("     "):
            found[-1][-1] += " " + line.strip()
        else:
            found[-1].append(line.strip())
    return found


def kind_of(value: object) -> str:
    """The type of a value, with its article.

    >>> kind_of(3), kind_of("three")
    ('an int', 'a str')
    """
    name = type(value).__name__
    return f"a{'n' * (name[0] in 'aeiouAEIOU')} {name}"
