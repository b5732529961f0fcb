"""Of the theme's two thousand icons, keep those that the pages show: 1.4 MB less."""

import re
from collections.abc import Iterable
from pathlib import Path

from sphinx.application import Sphinx

SCRIPTS = "_static/vendor/fontawesome/*/js/all.min.js"
NAMED = re.compile(r"\bfa-([a-z0-9-]+)")
# One icon in the script: name:[width,height,[other names],"code","path"]
ICON = re.compile(
    r'(?P<name>"[\w-]+"|[A-Za-z_$][\w$]*|\d+):\[\d+,\d+,\[(?P<others>[^\]]*)\],'
    r'"[0-9a-f]+",(?:"[^"]*"|\["[^"]*","[^"]*"\])\](?P<comma>,?)'
)


def shown(texts: Iterable[str]) -> set[str]:
    """Return the names of the icons in pages, scripts and styles; more do no harm."""
    return {name for text in texts for name in NAMED.findall(text)}


def only(script: str, wanted: set[str]) -> str:
    """Return the theme's script without the icons that have none of these names."""

    def kept(icon: re.Match[str]) -> str:
        names = {icon["name"].strip('"'), *re.findall(r'"([\w-]+)"', icon["others"])}
        return icon[0] if names & wanted else ""

    return ICON.sub(kept, script)


def leave_out(app: Sphinx, error: Exception | None) -> None:
    """Write the script anew where pages have been built."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    scripts = [*(out / "_static" / "scripts").glob("*.js"), *out.glob("_static/*.js")]
    pages = (path.read_text(encoding="utf8") for path in out.rglob("*.html"))
    wanted = shown([*pages, *(path.read_text(encoding="utf8") for path in scripts)])
    for path in out.glob(SCRIPTS):
        path.write_text(only(path.read_text(encoding="utf8"), wanted), encoding="utf8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", leave_out)
