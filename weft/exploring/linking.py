"""Combine a figure and the modules that it imports into one module.

A page from a server fetches the modules as they are. A widget has only its own text,
and a page opened from a folder can load only plain scripts, so here each module becomes
a function that is called once. A module must therefore import names from "./x.js". It
may put `export` before a declaration, export a list at its end, or export a default.
"""

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "figures"

_import = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"\./([\w.]+)\.js";', re.M)
_declared = re.compile(r"^export\s+(?:const|let|function|class)\s+(\w+)", re.M)
_listed = re.compile(r"\bexport\s*\{([^}]*)\};?\s*$")
_default = re.compile(r"^export default ", re.M)


def names() -> list[str]:
    """Return the names of the figures: the modules with a default export."""
    return sorted(
        path.stem
        for path in FOLDER.glob("*.js")
        if _default.search(path.read_text(encoding="utf8"))
    )


@cache
def linked(name: str) -> str:
    """Return figure `name` as one ES module that imports nothing."""
    return "\n".join([*_parts(name), f"export default {_variable(name)}.default;\n"])


@cache
def script(name: str) -> str:
    """Return figure `name` as a plain script, for pages opened from a folder.

    On such pages, browsers load no modules. The script sets `weftFigures[name]`.
    """
    code = "\n".join([*_parts(name), f"return {_variable(name)}.default;"])
    keep = f'(globalThis.weftFigures ??= {{}})["{name}"]'
    return f"{keep} = (() => {{\n{code}\n}})();\n"


def style() -> str:
    """Return the figures' stylesheet."""
    return (FOLDER / "figures.css").read_text(encoding="utf8")


def _parts(name: str) -> list[str]:
    parts: list[str] = []
    _add(name, [], parts)
    return parts


def _variable(name: str) -> str:
    return f"weft_{name}"


def _add(name: str, done: list[str], parts: list[str]) -> None:
    """Append module `name` to `parts`, after the modules that it imports."""
    if name in done:
        return
    done.append(name)
    code = (FOLDER / f"{name}.js").read_text(encoding="utf8")
    for _, other in _import.findall(code):
        _add(other, done, parts)
    exports = {name: name for name in _declared.findall(code)}
    listed = _listed.search(code)
    if listed:
        exports |= {outer: inner for inner, outer in _pairs(listed[1])}
        code = code[: listed.start()]
    code = _import.sub(_taken, code)
    code = _declared.sub(lambda found: found[0].removeprefix("export "), code)
    if _default.search(code):
        code = _default.sub("const default_ = ", code)
        exports["default"] = "default_"
    given = ", ".join(f"{outer}: {inner}" for outer, inner in exports.items())
    parts.append(
        f"const {_variable(name)} = (() => {{\n{code}\nreturn {{ {given} }};\n}})();"
    )


def _taken(found: re.Match[str]) -> str:
    wanted = ", ".join(
        outer if inner == outer else f"{inner}: {outer}"
        for inner, outer in _pairs(found[1])
    )
    return f"const {{ {wanted} }} = {_variable(found[2])};"


def _pairs(text: str) -> list[tuple[str, str]]:
    """Parse `a, b as c` into pairs: [("a", "a"), ("b", "c")]."""
    words = [part.split() for part in text.split(",") if part.strip()]
    return [(part[0], part[-1]) for part in words]
