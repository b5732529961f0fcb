"""What a page loads is what it uses.

Sphinx's extensions load their scripts and styles on every page. A file of `USED_BY`
stays where the page has what it is for. The theme loads its icons twice, as fonts of
300 KB and as drawings (`icons.py`); the drawings stay, and hold up no page.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

# A part of a file's name, and what the page must have in it.
USED_BY = {
    "clipboard.": "<pre",
    "copybutton.": "<pre",
    "togglebutton.": "dropdown",
    "design-tabs.": 'class="sd-tab',
    "sphinx-design.": 'class="sd-',
    "mystnb.": 'class="cell',
    "switches.js": "weft-switches",
}
# What a page is read without; deferred scripts keep their order.
LATER = (
    "doctools.js",
    "sphinx_highlight.js",
    "clipboard.min.js",
    "copybutton.js",
    "togglebutton.js",
    "design-tabs.js",
    "sphinx-book-theme.js",
    "print.js",
    "scrolling.js",
    "search.js",
    "reader.js",
)
REQUIRE = "require.js"  # for widgets
FONTS = re.compile(r"\s*<link [^>]*(?:/fontawesome/)[^>]*>")
MODE = re.compile(r"(document\.documentElement)\.dataset\.theme = [^;]*;")
DRAWINGS = re.compile(r"<script (?=[^>]*/fontawesome/)")
PRELOADED = re.compile(r'\s*<link rel="preload" as="script"[^>]*>')


def needed(name: str, body: str) -> bool:
    """Return whether a page with this body uses a script or a style."""
    return all(mark in body for part, mark in USED_BY.items() if part in name)


def without_fonts(head: str) -> str:
    """Return the head of a page without the fonts of icons, their drawings deferred.

    The theme's scripts at the end of the page are not preloaded: what is seen first
    would wait for them. `book/_templates/layout.html` calls this, and `with_theme`.
    """
    return PRELOADED.sub("", DRAWINGS.sub("<script defer ", FONTS.sub("", head)))


def with_theme(head: str) -> str:
    """Return the head of a page that knows at once whether it is light or dark.

    The theme's script finds out at the end of the page. Until then no colour and no
    border of ours would be drawn, and what has one would move.
    """
    dark = "matchMedia('(prefers-color-scheme: dark)').matches"
    known = r"\g<0>\n    if (\1.dataset.mode === 'auto') "
    known += rf"\1.dataset.theme = {dark} ? 'dark' : 'light';"
    return MODE.sub(known, head, count=1)


def leave_out(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    if app.builder.format != "html":
        return
    context["without_fonts"] = without_fonts
    context["with_theme"] = with_theme
    body = context.get("body", "")
    for key in ("script_files", "css_files"):
        files = context.get(key, [])
        files[:] = [one for one in files if needed(str(one.filename or ""), body)]
    scripts = context.get("script_files", [])
    if any(REQUIRE in str(script.filename or "") for script in scripts):
        return  # what comes after it would take itself for one of its modules
    for script in scripts:
        if str(script.filename or "").endswith(LATER):
            script.attributes["defer"] = "defer"


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", leave_out, priority=950)
