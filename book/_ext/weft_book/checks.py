"""{check}: an exercise that a reader solves in the page, with Python in the browser.

    ```{check}
    :chapter: 20_layouts
    :exercise: crd2idx
    ```

The build exports the exercise (`exporting`), and writes into `_static/check` what a
page loads: the exercises, the modules of this package that judge them, Pyodide, and a
snapshot of its memory. What takes long is kept in `_build/checks`. Where Pyodide is not
at hand, the page shows the starter and a link to the lab.
"""

import ast
import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from .page import WeftDirective, load_for

Data = dict[str, Any]

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "book" / "check"
KEPT = ROOT / "_build" / "checks"
RECORDS = ROOT / "_build" / "exercises"  # as exported, with what their trial said
DOCUMENTED = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
MOST_KEPT = 4  # earlier versions
PLACE = "check"  # under the pages' _static
LOADED = ("load.js", "check.js", "python.js", "worker.js", "editor.js")
STYLES = ("check.css", "live.css")
SHOWN = ("chapter", "name", "title", "hints", "starter", "signature", "told")
CHAPTER = re.compile(r"\b\d\d_[a-z]\w+")
WARMED = {"functions": 9, "kernels": 1}  # exercises that the snapshot has checked
PAGE = 65_536  # bytes, in which WebAssembly counts memory
WRITTEN = re.compile(r"^```\{check\} *\n((?::\w+:.*\n)+)```", re.M)
OPTION = re.compile(r"^:(\w+): *(.*?) *$", re.M)
# What an exported exercise depends on, with its lab.
DEPENDS = (
    "weft/**/*.py",
    "weft/**/*.toml",
    "weft/**/*.json",
    "book/_ext/weft_book/exporting*.py",
    "book/_ext/weft_book/without_numpy.py",
    "pipeline/labs.py",
    "verification/cells.py",
)
# Pyodide itself loads no package.
LOCK = {
    "info": {
        "abi_version": "2026_0",
        "arch": "wasm32",
        "platform": "emscripten_5_0_3",
        "python": "3.14.2",
    },
    "packages": {},
}


@dataclass(frozen=True)
class Checks:
    """The checks of a book.

    folder: what pages load of them, None where there is none; missing: then the reason.
    refused: of the exercises that pages ask for and cannot have, the reasons. pyodide:
    the folder of its files. snapshot: Python's memory after the first checks, None
    where Node could not make it.
    """

    folder: Path | None
    missing: str = ""
    refused: tuple[tuple[tuple[str, str], str], ...] = ()
    pyodide: Path | None = None
    snapshot: Path | None = None


def written(book: Path) -> list[tuple[str, str]]:
    """The (chapter, exercise) of all checks in the pages of a book."""
    pages = sorted(book.glob("*.md"))
    return [one for page in pages for one in on_page(page.read_text(encoding="utf-8"))]


def on_page(text: str) -> list[tuple[str, str]]:
    """The (chapter, exercise) of the checks in a page's source."""
    blocks = [dict(OPTION.findall(block)) for block in WRITTEN.findall(text)]
    return [(each.get("chapter", ""), each.get("exercise", "")) for each in blocks]


@cache
def digest(asked: tuple[tuple[str, str], ...]) -> str:
    """What the files of these checks depend on, as a short text."""
    labs = {lab: digest_of(lab) for lab, _ in asked}
    ours = contents(("book/_ext/weft_book/checks.py",))
    return hashlib.sha256(json.dumps([asked, labs, ours]).encode()).hexdigest()[:16]


@cache
def digest_of(lab: str) -> str:
    """What the exercises of a lab depend on: also chapters that its code names."""
    labs, todo = set(), {lab}
    while todo:
        labs |= todo
        code = [p for each in todo for p in (ROOT / "chapters" / each).rglob("*.py")]
        named = {n for p in code for n in CHAPTER.findall(p.read_text("utf-8"))}
        todo = {n for n in named if (ROOT / "chapters" / n).is_dir()} - labs
    return contents((*DEPENDS, *(f"chapters/{each}/**/*" for each in sorted(labs))))


@cache
def contents(patterns: tuple[str, ...]) -> str:
    """A digest of the files that fit some patterns."""
    found = hashlib.sha256()
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(str(path.relative_to(ROOT)).encode())
                found.update(path.read_bytes())
    return found.hexdigest()[:16]


@cache
def prepared(asked: tuple[tuple[str, str], ...]) -> Checks:
    """Make what the pages need for these exercises, or find it as it was made."""
    folder = KEPT / digest(asked)
    if not (folder / "refused.json").is_file():
        KEPT.mkdir(parents=True, exist_ok=True)
        prune([path for path in KEPT.iterdir() if path.is_dir()], MOST_KEPT)
        with tempfile.TemporaryDirectory(dir=KEPT) as scratch:
            refused = write_exercises(asked, Path(scratch))
            Path(scratch, "refused.json").write_text(json.dumps(refused))
            shutil.copytree(scratch, folder, dirs_exist_ok=True)
    refused = json.loads((folder / "refused.json").read_text())
    reasons = tuple((tuple(exercise), reason) for exercise, reason in refused)
    pyodide, missing = fetched()
    if pyodide is None:
        return Checks(None, missing, reasons)
    return Checks(folder, "", reasons, pyodide, snapshot(folder, pyodide))


def fetched() -> tuple[Path | None, str]:
    """The folder of Pyodide's files, or None, and why it cannot be had."""
    sys.path.insert(0, str(ROOT / "book"))  # which is no package
    import fetch_pyodide

    try:
        return fetch_pyodide.fetch(), ""
    except fetch_pyodide.NoPyodide as reason:
        return None, str(reason)


def prune(paths: Iterable[Path], most: int) -> None:
    """Delete all but the newest few of what earlier builds have made."""
    for path in sorted(paths, key=lambda path: path.stat().st_mtime)[:-most]:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def write_exercises(
    asked: tuple[tuple[str, str], ...], folder: Path
) -> list[tuple[tuple[str, str], str]]:
    """Write each exercise and the modules that judge them; return those refused."""
    refused = []
    modules: set[str] = set()
    kinds: Counter[str] = Counter()
    first = []  # what the snapshot's Python has checked
    for one, record in zip(asked, records(asked), strict=True):
        if record["reason"]:
            refused.append((one, record["reason"]))
            continue
        each = record["exercise"]
        modules |= set(record["modules"])
        write_exercise(each, folder)
        kinds[each["kind"]] += 1
        if kinds[each["kind"]] <= WARMED[each["kind"]]:
            first.append({"exercise": each, "sources": record["sources"]})
    about = {"imports": sorted(modules), "checks": first}
    (folder / "first.json").write_text(json.dumps(about))
    ours = {name for name in modules if name.partition(".")[0] == "weft"}
    zip_modules(sorted(ours), folder / "modules.zip")
    return refused


def records(asked: tuple[tuple[str, str], ...]) -> list[Data]:
    """What `exporting.records` says of each exercise, or has said before."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    paths = [RECORDS / f"{lab}.{name}.{digest_of(lab)}.json" for lab, name in asked]
    pairs = zip(paths, asked, strict=True)
    missing = {path: one for path, one in pairs if not path.is_file()}
    made = []
    if missing:
        from . import exporting  # with the labs, which a page without checks needs not

        made = exporting.records(list(missing.values()))
    for path, record in zip(missing, made, strict=True):
        with tempfile.NamedTemporaryFile("w", dir=RECORDS, delete=False) as fresh:
            json.dump(record, fresh)
        Path(fresh.name).rename(path)
    found = [json.loads(path.read_text("utf-8")) for path in paths]
    prune(RECORDS.glob("*.json"), MOST_KEPT * len(asked))
    return found


def write_exercise(exercise: Data, folder: Path) -> None:
    """Write what the page shows of an exercise, and what only Python needs of it."""
    name = f"{exercise['chapter']}.{exercise['name']}"
    shown = {key: exercise[key] for key in SHOWN}
    for what, data in ((f"{name}.json", shown), (f"{name}.cases.json", exercise)):
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        (folder / what).write_text(text, "utf-8")


def zip_modules(modules: list[str], target: Path) -> None:
    """Zip modules and their tables, always to the same bytes.

    Without docstrings, there is a fifth less to download.
    """
    with zipfile.ZipFile(target, "w") as packed:
        for name, path in sorted(set(files_of(modules))):
            about = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            about.compress_type = zipfile.ZIP_DEFLATED
            data = path.read_bytes()
            if path.suffix == ".py" and ROOT / "weft" in path.parents:
                data = without_docstrings(data.decode()).encode()
            packed.writestr(about, data, compresslevel=9)


def without_docstrings(source: str) -> str:
    """Return a module's source with blank lines for docstrings: lines keep numbers."""
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, DOCUMENTED) or ast.get_docstring(node) is None:
            continue
        text = node.body[0]
        end = text.end_lineno or text.lineno
        lines[text.lineno - 1 : end] = [""] * (end - text.lineno + 1)
        if len(node.body) == 1:
            lines[text.lineno - 1] = " " * text.col_offset + "pass"
    return "\n".join(lines)


def files_of(modules: list[str]) -> Iterator[tuple[str, Path]]:
    """Where a page has each module, and its file, with the table beside it.

    A module reads the .toml file of its own name, or the .json files beside it.
    `weft/__init__.py` stays out.
    """
    for module in modules:
        parts = module.split(".")
        name, path = Path(*parts), ROOT.joinpath(*parts)
        if parts[:2] == ["weft", "chapters"] and parts[2:]:
            name = Path("weft", "_chapters", *parts[2:])
            path = ROOT.joinpath("chapters", *parts[2:])
        if path.with_suffix(".py").is_file():
            for suffix in (".py", ".toml"):
                if path.with_suffix(suffix).is_file():
                    yield f"{name}{suffix}", path.with_suffix(suffix)
            for table in path.parent.glob("*.json"):
                if table.name in path.with_suffix(".py").read_text(encoding="utf-8"):
                    yield str(name.with_name(table.name)), table
        elif len(parts) > 1 and (path / "__init__.py").is_file():
            yield f"{name}/__init__.py", path / "__init__.py"


def snapshot(folder: Path, pyodide: Path) -> Path | None:
    """Return the file of Python's memory after the first checks, made if need be."""
    script = SOURCES / "snapshot.mjs"
    given = [folder / "modules.zip", folder / "first.json"]
    found = hashlib.sha256(pyodide.name.encode())
    for path in (script, *given):
        found.update(path.read_bytes())
    target = KEPT / f"{found.hexdigest()[:16]}.snapshot"
    prune(KEPT.glob("*.snapshot"), MOST_KEPT)
    if target.is_file() or shutil.which("node") is None:
        return target if target.is_file() else None
    fresh = target.with_suffix(".new")
    done = subprocess.run(
        ["node", script, pyodide, *given, fresh],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "Error" in line[:200]]
        said = (lines or ["node failed"])[-1][:200]
        print(f"Checks start slower, without a snapshot: {said}", file=sys.stderr)
        return None
    fresh.rename(target)
    return target


# What a page loads


def describe(folder: Path, pyodide: Path, memory: Path | None) -> Data:
    """What worker.js has to know: names, and how many bytes there are to load."""

    def size(*paths: Path) -> int:
        return sum(path.stat().st_size for path in paths)

    def mb(*paths: Path) -> int:
        """Megabytes on the way, where the server compresses."""
        small = sum(len(gzip.compress(path.read_bytes(), 6)) for path in paths)
        return round(small / 1e6)

    code = [pyodide / "pyodide.mjs", pyodide / "pyodide.asm.mjs"]
    wasm, library = pyodide / "pyodide.asm.wasm", pyodide / "python_stdlib.zip"
    modules = folder / "modules.zip"
    plain = [wasm, library, modules]
    about: Data = {
        "lock": LOCK,
        "modules": {"name": modules.name},
        "plain": {"total": size(*plain), "mb": mb(*plain, *code)},
    }
    if memory is not None:
        about["snapshot"] = {
            "name": "python.snapshot",
            "pages": -(-unpacked(memory) // PAGE),
            "total": size(wasm, memory),
            "mb": mb(wasm, memory, *code),
        }
    return about


def unpacked(path: Path) -> int:
    """The bytes that a file compressed by gzip holds."""
    return int.from_bytes(path.read_bytes()[-4:], "little")


def copy_files(app: Sphinx) -> None:
    """Put what the checks of this book need where its pages find it."""
    asked = tuple(sorted(set(written(Path(app.srcdir, "book")))))
    if app.builder.format != "html" or not asked:
        return
    checks = prepared(asked)
    target = Path(app.outdir, "_static", PLACE)
    shutil.rmtree(target, ignore_errors=True)
    if checks.folder is None or checks.pyodide is None:
        print(f"The pages have no checks: {checks.missing}.", file=sys.stderr)
        return
    shutil.copytree(checks.pyodide, target / "pyodide")
    for name in LOADED + STYLES:
        shutil.copyfile(SOURCES / name, target / name)
    for path in checks.folder.iterdir():
        if path.name not in ("refused.json", "first.json"):
            shutil.copyfile(path, target / path.name)
    if checks.snapshot is not None:
        shutil.copyfile(checks.snapshot, target / "python.snapshot")
    about = describe(checks.folder, checks.pyodide, checks.snapshot)
    (target / "files.json").write_text(json.dumps(about))


# The directive


class CheckDirective(WeftDirective):
    """{check} puts the editor of an exercise here."""

    option_spec: ClassVar = {
        "chapter": directives.unchanged_required,
        "exercise": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        lab, name = self.options.get("chapter", ""), self.options.get("exercise", "")
        asked = tuple(sorted(set(written(Path(self.env.srcdir, "book")))))
        if (lab, name) not in asked:
            return self.warn("say :chapter: and :exercise:, and nothing more")
        for file in ("lab.py", "checks.py", "lesson.toml"):
            path = ROOT / "chapters" / lab / file
            if path.is_file():  # Sphinx takes what is not there for changed
                self.env.note_dependency(str(path))
        checks = prepared(asked)
        if reason := dict(checks.refused).get((lab, name)):
            return self.warn(f"{lab}/{name} cannot be checked in a page: {reason}")
        exercise = json.loads((kept(asked) / f"{lab}.{name}.json").read_text("utf-8"))
        docname = self.env.docname
        up = "../" * docname.count("/")
        return self.html(html_of(exercise, up, works=checks.folder is not None))


def kept(asked: tuple[tuple[str, str], ...]) -> Path:
    return KEPT / digest(asked)


def html_of(exercise: Data, up: str, works: bool) -> str:
    """The check as a page has it before its script: the starter, and a link to the lab.

    up: leads from the page to the top of the book. works: whether there is a script.
    """
    lab, name = exercise["chapter"], exercise["name"]
    title = escape(exercise["title"])
    number = lab.partition("_")[0]
    link = f'<a href="{up}labs/{lab}.html">lab {number}</a>'
    needed = "<p>Enable JavaScript to write and check your answer here.</p>"
    told = needed if works else ""
    data = f' data-check="{lab}.{name}"' if works else ""
    return (
        f'<div class="weft-check" id="check-{name}"{data}>'
        f'<div class="weft-check-head"><b>{title}</b> <span>from {link}</span></div>'
        f'<div><pre tabindex="0">{escape(exercise["starter"])}</pre>{told}</div></div>'
    )


def load_where_checked(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Load the style and the loader on the pages that have a check."""
    load_for(app, doctree, "data-check=", f"{PLACE}/check.css", f"{PLACE}/load.js")


def setup(app: Sphinx) -> None:
    app.add_directive("check", CheckDirective)
    app.connect("builder-inited", copy_files)
    app.connect("html-page-context", load_where_checked)
