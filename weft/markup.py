"""Text that learners read, as HTML that works without a stylesheet.

What this package shows in a notebook must be readable in a light theme, in a dark one,
in the book, on a phone and without a network. So colours are inherited
(`currentColor`), styles are inline, and nothing depends on a script.
"""

import html
import re
from collections.abc import Iterable

MUTED = "opacity:.72"
RULE = "1px solid color-mix(in srgb, currentColor 25%, transparent)"

_code = re.compile(r"`([^`]+)`")
_emphasis = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]*[^\s*])\*(?![\w*])")


def inline(text: str) -> str:
    """Return `text` escaped for HTML, with its `code` and *emphasis* marked up."""
    parts = _code.split(html.escape(text))  # every second part is code
    parts[::2] = [_emphasis.sub(r"<em>\1</em>", part) for part in parts[::2]]
    parts[1::2] = [f"<code>{part}</code>" for part in parts[1::2]]
    return "".join(parts)


def link(address: str, text: str) -> str:
    """Return an HTML link to `address`; `inline` turns `text` into HTML."""
    return f'<a href="{html.escape(address, quote=True)}">{inline(text)}</a>'


def plain(text: str) -> str:
    """Return `text` for a terminal, with backticks kept and white space collapsed."""
    return " ".join(text.split())


def block(parts: Iterable[str], *, label: str) -> str:
    """Wrap the HTML `parts` in one region named `label` for screen readers.

    Wide content scrolls inside the region rather than widening the page.
    """
    name = html.escape(label, quote=True)
    return (
        f'<div class="weft" role="group" tabindex="0" aria-label="{name}" '
        f'style="max-width:46rem;overflow-x:auto;line-height:1.45">'
        f"{''.join(parts)}</div>"
    )


def note(text: str) -> str:
    """Return `text` as a muted paragraph in HTML."""
    return f'<p style="margin:.4em 0;{MUTED}">{inline(text)}</p>'


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in HTML. The first cell of each row is its heading.

    head, rows: cells in HTML. The styles override those that Jupyter gives to every
    table: striped rows and right-aligned text.
    """
    cell = (
        "padding:.3em .9em .3em 0;text-align:left;vertical-align:top;"
        f"border:0;border-bottom:{RULE};background:none;max-width:none;"
        "white-space:normal"
    )
    top = "".join(
        f'<th scope="col" style="{cell};{MUTED};font-weight:normal">{h}</th>'
        if h
        else f'<td style="{cell}"></td>'
        for h in head
    )
    body = ""
    for row in rows:
        first, *others = row
        body += (
            f'<tr style="background:none"><th scope="row" style="{cell};'
            f'font-weight:600">{first}</th>'
            + "".join(f'<td style="{cell}">{c}</td>' for c in others)
            + "</tr>"
        )
    return (
        '<table style="border-collapse:collapse;border:0;margin:.3em 0;'
        'font-size:inherit;color:inherit;table-layout:auto">'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    )
