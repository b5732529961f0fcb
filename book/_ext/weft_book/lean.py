"""What a page loads is what it uses.

Sphinx's extensions load their scripts and styles on every page. A file of `USED_BY`
stays where the page has what it is for. The theme loads its icons twice, as fonts of
300 KB and as drawings (`icons.py`); the drawings stay, and hold up no page.

For the contents beside a page, Sphinx copies all headings of all pages, and drops them
again. Here it gets them without.
"""

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import html
from sphinx.environment import BuildEnvironment

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


class Titles(dict[str, nodes.bullet_list]):
    """The contents of pages as in `tocs`, but only titles, and what is below a page."""

    def __init__(self, tocs: dict[str, nodes.bullet_list]) -> None:
        self.tocs = tocs

    def __missing__(self, page: str) -> nodes.bullet_list:
        toc = self[page] = self.tocs[page].deepcopy()
        for item in toc.children:
            if isinstance(item, nodes.list_item) and len(item) > 1:
                if below := list(item.findall(addnodes.toctree)):
                    item[1][:] = below
                else:
                    item.pop(1)
        return toc


def contents(
    env: BuildEnvironment, *rest: Any, titles_only: bool = False, **options: Any
) -> nodes.Element | None:
    """Return the contents beside a page, as Sphinx does, with less to copy."""
    tocs = env.tocs
    deep = any(about.get("tocdepth") for about in env.metadata.values())
    if titles_only and not deep:
        if getattr(env, "weft_titles", None) is None:
            env.weft_titles = Titles(tocs)
        env.tocs = env.weft_titles
    try:
        return whole_contents(env, *rest, titles_only=titles_only, **options)
    finally:
        env.tocs = tocs


whole_contents = html.global_toctree_for_doc


def forget(app: Sphinx, env: BuildEnvironment) -> None:
    """Forget the titles of pages that are read again."""
    env.weft_titles = None


def setup(app: Sphinx) -> None:
    html.global_toctree_for_doc = contents
    app.connect("env-updated", forget)
    app.connect("html-page-context", leave_out, priority=950)
