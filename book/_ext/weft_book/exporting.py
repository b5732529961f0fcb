"""The exercises of the labs as a page needs them: JSON, without NumPy, without the lab.

An exercise is what its lab's check cell says. The cell is run with the lab's answer,
and with a `check` that notes what it is asked. From that come the cases with their
results, and the source of what explains a wrong answer. What a page cannot have, such
as an array, makes the exercise one for the lab alone, and says why: see `NotInPage`.

Whether the rest works without NumPy is tried, in a Python that has none: see `tried`.
"""

import ast
import atexit
import inspect
import io
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from pipeline import notebook
from pipeline.labs import STUB, undo
from verification.cells import cells, checks, run, scope_of
from weft import meaning
from weft.checking.cases import copies, widened
from weft.code_objects import global_names
from weft.dispatch import room_of
from weft.functions.exercise import FunctionExercise
from weft.in_page.judging import NOT_HERE
from weft.in_page.values import CHAPTERS, NotAValue, encoded, has_array
from weft.kernels.exercise import KernelExercise
from weft.lesson import syllabus
from weft.starters import source_function

from . import exporting_kernels

ROOT = Path(__file__).resolve().parents[3]
ALONE = Path(__file__).with_name("without_numpy.py")
SEED = 20_26  # of the cases that an exercise does not list
OWN = (CHAPTERS, "weft.intrinsics")  # modules whose functions a page explains
OURS = {"check", "hint", "quiz", "weft", "chapter", "checks"}
BLOCK = re.compile(r"^```python\n(.*?)\n```$", re.M | re.S)
Data = dict[str, Any]


class NotInPage(Exception):
    """An exercise that only its lab can check; the text says why."""


@dataclass(frozen=True)
class Trial:
    """How an exercise did without NumPy.

    reason: why it cannot be in a page, "" if it can. modules: what it imports.
    """

    reason: str
    modules: tuple[str, ...] = ()


# All that a page needs to know


def records(asked: list[tuple[str, str]]) -> list[Data]:
    """Export exercises and try them.

    reason: why no page can have one, "" if it can. Then exercise, modules: what it
    imports, and sources: what was tried.
    """
    exported: dict[tuple[str, str], Data] = {}
    found: dict[tuple[str, str], Data] = {}
    for one in asked:
        try:
            exported[one] = export(*one)
        except NotInPage as reason:
            found[one] = {"reason": str(reason)}
    trials = tried(list(exported.values()), few_sources=True)
    for (one, exercise), trial in zip(exported.items(), trials, strict=True):
        found[one] = {
            "reason": trial.reason,
            "exercise": exercise,
            "modules": list(trial.modules),
            "sources": [source for _, source, _ in few(exercise)],
        }
    return [found[one] for one in asked]


# One exercise


def export(lab: str, name: str, kernels: bool = True) -> Data:
    """Return an exercise as JSON has it. Raises NotInPage.

    kernels: whether one about a kernel is wanted, whose check is run for its data.
    """
    if name not in checks(lab):
        raise NotInPage(f"lab {lab} checks no {name}")
    cell = cell_of(lab, name)
    if "@triton.jit" in cell:
        raise NotInPage("it is about a Triton program")
    if "@cuda.jit" in cell and not kernels:
        raise NotInPage("it is about a kernel")
    with redirect_stdout(io.StringIO()):
        scope = scope_of(lab)
        run(cell, f"<{lab}/{name}>", scope)
        thing, asked = asked_for(lab, name, scope)
    room = room_of(thing, asked)
    described = next(e for e in syllabus.load(lab).exercises if e.name == name)
    common = {
        "chapter": lab,
        "name": name,
        "title": described.title,
        "hints": list(described.hints),
        "starter": starter(cell),
        "signature": signature(lab, name),
    }
    if room.exercise is KernelExercise and kernels:
        return common | of_kernel(
            lab, scope, room.exercise(written_by_learner=thing, **asked), cell
        )
    known = {field.name for field in fields(FunctionExercise)}
    if room.exercise is not FunctionExercise or not known >= asked.keys():
        raise NotInPage(f"it is about {room.what}, with more to it")
    if not isinstance(thing, FunctionType):
        raise NotInPage("its answer is no plain function")
    exercise = FunctionExercise(written_by_learner=thing, **asked)
    code, used = code_given(lab, scope, words(lab, name))
    names, left_out = given(scope, name, used)
    left_out -= defined(code)
    missing = sorted(global_names(thing.__code__) & left_out)
    if missing:
        raise NotInPage(f"its answer uses `{missing[0]}`")
    return common | {
        "kind": "functions",
        "cases": cases(exercise),
        "tolerance": exercise.tolerance,
        "lines": exercise.lines,
        "without": list(exercise.without),
        "because": named(exercise.because),
        "same": named(exercise.same),
        "explains": explains([exercise.because, exercise.same]),
        "code": code,
        "given": names,
        "told": told(scope, cell, names, code),
        "left_out": sorted(left_out),
    }


def of_kernel(lab: str, scope: Data, asked: KernelExercise, source: str) -> Data:
    """What an exercise in kernels has in addition to its texts. Raises NotInPage."""
    # The kernel is the lab's where the launch is the exercise.
    code, _ = code_given(lab, scope, {*names_in(source), asked.kernel.__name__})
    names, left_out = given(scope, asked.name, is_kernel=True)
    function = source_function(asked.kernel)
    left_out -= defined(code) | defined(source)
    missing = sorted(global_names(function.__code__) & left_out) if function else []
    if missing:
        raise NotInPage(f"its answer uses `{missing[0]}`")
    try:
        made = exporting_kernels.export(asked)
    except NotAValue as wrong:
        raise NotInPage(f"a case of it has {wrong}") from None
    return made | {
        "because": named(asked.because),
        "describe": {output: named(f) for output, f in asked.describe.items()},
        "explains": explains([asked.because, *asked.describe.values()]),
        "code": code,
        "given": names,
        "told": told(scope, source, names, code),
        "left_out": sorted(left_out),
    }


def cell_of(lab: str, name: str) -> str:
    """The cell in which a lab's solution defines the function of an exercise."""
    for cell in cells(lab):
        if f"def {name}(" in cell.source and "BEGIN SOLUTION" in cell.source:
            return str(cell.source)
    raise NotInPage("its function is not in a cell of its own")


def signature(lab: str, name: str) -> str:
    """How a lab's task says what goes in and what comes out; "" where it does not."""
    for text in prose(lab):
        for block in BLOCK.findall(text):
            if re.search(rf"^{name}\(.*(#|->)", block, re.M):
                return str(block)
    return ""


@cache
def prose(lab: str) -> list[str]:
    """The texts of a lab's cells that are not code."""
    script = notebook.read_script(notebook.script(ROOT, lab))
    return [str(c.source) for c in script.cells if c.cell_type == "markdown"]


def starter(cell: str) -> str:
    """The cell as the lab shows it, with the answer cut out."""
    shown = undo(cell)
    lines, inside = [], False
    for line in shown.splitlines():
        if line.strip() == "# BEGIN SOLUTION":
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + each for each in STUB.splitlines()]
            inside = True
        elif line.strip() == "# END SOLUTION":
            inside = False
        elif not inside:
            lines.append(line)
    return "\n".join(lines).strip("\n")


def asked_for(lab: str, name: str, scope: Data) -> tuple[Any, Data]:
    """What the check cell of an exercise asks `check` for."""
    noted: list[tuple[Any, Data]] = []

    def note(thing: Any, *diagnosis: Any, **asked: Any) -> None:
        noted.append((thing, {k: v for k, v in asked.items() if v is not None}))

    run(checks(lab)[name], f"<check of {name}>", scope | {"check": note})
    if not noted:
        raise NotInPage("another function checks it")
    return noted[-1]


def cases(exercise: FunctionExercise) -> list[Data]:
    """Each call's arguments, with what is right. Raises NotInPage."""
    found = []
    for args in exercise.argument_tuples(SEED):
        wanted = exercise.spec(*(widened(a) for a in copies(args)))
        try:
            case = {"args": encoded(args), "wanted": encoded(as_python(wanted))}
        except NotAValue as wrong:
            raise NotInPage(f"a case of it has {wrong}") from None
        if has_array(case["args"]):
            raise NotInPage("its inputs are arrays")
        if has_array(case["wanted"]):
            raise NotInPage("its result is an array")
        found.append(case)
    return found


def as_python(value: Any) -> Any:
    """A value, in which numbers of NumPy's are Python's, as a comparison takes them."""
    if type(value) in (tuple, list):
        return type(value)(map(as_python, value))
    if type(value) is dict:
        return {key: as_python(part) for key, part in value.items()}
    exact = getattr(value, "dtype", None) in ("int64", "float64", "bool")
    return value.item() if exact and getattr(value, "ndim", 1) == 0 else value


# The names that the reader's code finds


def given(
    scope: Data, name: str, used: set[str] | None = None, is_kernel: bool = False
) -> tuple[dict[str, Data], set[str]]:
    """The lab's names that a page can have, each with where it is from; the others.

    used: the names in the answers at hand. Of the lab's own values and functions, a
    page gets only these; None: all. is_kernel: whether the exercise is about a kernel,
    which NumPy and Numba are for.
    """
    found, left_out = {}, set()
    for each, value in scope.items():
        if each in OURS or each == name or each.startswith("_"):
            continue
        what = origin(value, is_kernel)
        own = what is not None and "module" not in what
        if what is None or (own and used is not None and each not in used):
            left_out.add(each)
        else:
            found[each] = what
    return found, left_out


def origin(value: Any, is_kernel: bool = False) -> Data | None:
    """Where a page finds a value: in a module, or here; None where it does not."""
    if isinstance(value, ModuleType):
        public = meaning.public_module(value.__name__)
        return {"module": public} if is_there(public, is_kernel) else None
    if is_kernel and meaning.is_number_type(value):
        return {"module": "numba", "name": str(value)}
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if isinstance(module, str) and name and is_there(module, is_kernel):
        if getattr(sys.modules[module], name, None) is value:
            return {"module": module, "name": name}
        return None
    try:
        data = encoded(value)
    except NotAValue:
        return None
    return None if has_array(data) and not is_kernel else {"value": data}


def code_given(lab: str, scope: Data, used: set[str]) -> tuple[str, set[str]]:
    """The source of the lab's own functions among some names, and of those they call.

    With it all names that are used then.
    """
    used, found = set(used), {}
    todo = sorted(used)
    while todo:
        name = todo.pop(0)
        function = source_function(scope.get(name))
        if name in found or function is None or not is_of(lab, function):
            continue
        found[name] = textwrap.dedent(inspect.getsource(function))
        todo += sorted(names_in(found[name]))
        used |= names_in(found[name])
    return "\n\n".join(found[name] for name in scope if name in found), used


def is_of(lab: str, function: FunctionType) -> bool:
    """Whether a function is defined in a cell that a lab gives."""
    return function.__code__.co_filename.startswith(f"<{lab} cell ")


def defined(source: str) -> set[str]:
    """The names that the statements of a source give values to."""
    return {name for node in ast.parse(source).body for name in stored(node)}


def told(scope: Data, source: str, names: dict[str, Data], code: str) -> list[str]:
    """What the lab gives to an answer, as a page says it: constants and functions."""
    found = []
    for name in sorted(names_in(source) & (names.keys() | defined(code))):
        value, what = scope[name], names.get(name, {})
        function = source_function(value)
        if "value" in what:
            found.append(value_told(name, value))
        elif function and (name in defined(code) or what["module"].startswith(OWN)):
            parameters = inspect.signature(function).parameters.values()
            plain = [each.replace(annotation=each.empty) for each in parameters]
            found.append(f"{name}{inspect.Signature(plain)}")
    return found


def value_told(name: str, value: Any) -> str:
    """A constant as a page says it; of an array the shape."""
    if getattr(value, "shape", ()):
        return f"{name}.shape = {value.shape}"
    is_mask = type(value) is int and value > 0xFFFF
    return f"{name} = {hex(value) if is_mask else value}"


@cache
def is_there(module: str, is_kernel: bool = False) -> bool:
    """Whether a page has a module: Python's own, or a chapter's that needs no more."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names and module != "__main__":
        return True
    if is_kernel and module in ("numpy", "numba", "numba.cuda"):
        return True
    ours = OWN if is_kernel else (CHAPTERS,)
    if not module.startswith(ours):
        return False
    answers = importer("kernels" if is_kernel else "functions")
    assert answers.stdin
    assert answers.stdout
    answers.stdin.write(f"{module}\n")
    answers.stdin.flush()
    answer = answers.stdout.readline()
    if answer not in ("0\n", "1\n"):
        raise RuntimeError(f"{ALONE.name} ended before it answered for {module}")
    return answer == "1\n"


@cache
def importer(kind: str) -> subprocess.Popen[str]:
    """A Python that has only what a page has, and says which modules it can import."""
    process = subprocess.Popen(
        [sys.executable, "-I", str(ALONE), "import", kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    atexit.register(process.communicate)  # it ends with its input
    return process


# What explains a wrong answer


def named(function: Any) -> str | None:
    return getattr(function, "__name__", None)


def explains(given: list[Any]) -> Data | None:
    """The source of `because`, `same` and others, with what they need.

    Raises NotInPage.
    """
    functions = [function for function in given if function is not None]
    homes = {getattr(f, "__module__", "") for f in functions}
    if not functions:
        return None
    home = homes.pop()
    if homes or not home.startswith(CHAPTERS):
        raise NotInPage("what explains its wrong answers is not the chapter's")
    module = import_module(home)
    if any(getattr(module, named(f) or "", None) is not f for f in functions):
        raise NotInPage("what explains its wrong answers is made by a function")
    source = sliced(inspect.getsource(module), {f.__name__ for f in functions})
    return {"module": home.removeprefix(CHAPTERS), "source": source}


def sliced(source: str, names: Iterable[str]) -> str:
    """The statements of a module that some of its names need, in their order."""
    body = [part for node in ast.parse(source).body for part in split(node)]
    stores = [set(stored(node)) for node in body]
    kept: set[int] = set()
    todo = set(names)
    done: set[str] = set()
    while todo:
        name = todo.pop()
        done.add(name)
        for number, node in enumerate(body):
            if name in stores[number] and number not in kept:
                kept.add(number)
                todo |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - done
    module = ast.Module([without_docstring(body[n]) for n in sorted(kept)], [])
    return ast.unparse(module) + "\n"


def split(node: ast.stmt) -> Iterator[ast.stmt]:
    """An import of several names as one for each."""
    if isinstance(node, ast.Import):
        yield from (ast.Import([alias]) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield ast.ImportFrom(node.module, [alias], node.level)
    else:
        yield node


def stored(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module gives a value to."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
        return
    for each in ast.walk(node):
        if isinstance(each, ast.alias):
            yield (each.asname or each.name).partition(".")[0]
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id


def without_docstring(node: ast.stmt) -> ast.stmt:
    if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
        node.body = node.body[1:]
    return node


# Without NumPy


def alone(*args: str, said: str = "") -> subprocess.CompletedProcess[str]:
    """Run `without_numpy.py`: a Python that has only what a page has."""
    return subprocess.run(
        [sys.executable, "-I", str(ALONE), *args],
        input=said,
        capture_output=True,
        text=True,
        check=False,
    )


def tried(exercises: list[Data], few_sources: bool = False) -> list[Trial]:
    """Judge the lab's answer, the starter and the answers at hand, as a page would.

    The answer and those named right have to pass, the starter to be told to begin, all
    others to be rejected. Those that need a name that a page has not are left out. An
    error of the check itself is a reason against the page. few_sources: of an exercise
    in kernels, only the sources in `few`.
    """
    each = [list((few if few_sources else sources)(one)) for one in exercises]
    found = verdicts(exercises, [[source for _, source, _ in some] for some in each])
    return [
        Trial(reason(some, one["verdicts"]), tuple(one["modules"]))
        for some, one in zip(each, found, strict=True)
    ]


def reason(tries: list[tuple[str, str, str]], verdicts: list[Data]) -> str:
    """What went wrong first, "" where every source has reached its state."""
    for (what, _, state), verdict in zip(tries, verdicts, strict=True):
        if "error" in verdict:
            return f"on {what}, its check fails: {verdict['error']}"
        if not has_reached(state, verdict) and not is_for_a_compiler(verdict):
            return f"{what} ends in {verdict['title']!r}, not in {state}"
    return ""


def has_reached(state: str, verdict: Data) -> bool:
    """Whether a verdict is as it should be: a state, or "unfinished", which is none."""
    return not verdict["ok"] if state == "unfinished" else verdict["state"] == state


def is_for_a_compiler(verdict: Data) -> bool:
    """Whether a kernel has passed all but the stages that only the lab has."""
    return NOT_HERE in verdict["facts"]


def verdicts(exercises: list[Data], sources: list[list[str]]) -> list[Data]:
    """The verdicts of a page on some sources of each exercise, and its modules."""
    pairs = zip(exercises, sources, strict=True)
    asked = [{"exercise": one, "sources": some} for one, some in pairs]
    halves = [half for half in (asked[::2], asked[1::2]) if half]
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(judged_alone, halves))
    found = zip_longest(*done)
    return [each for pair in found for each in pair if each is not None]


def judged_alone(asked: list[Data]) -> list[Data]:
    done = alone("judge", said=json.dumps(asked))
    if done.returncode:
        raise RuntimeError(f"checks without NumPy ended with an error:\n{done.stderr}")
    found: list[Data] = json.loads(done.stdout)
    return found


def sources(exercise: Data) -> Iterator[tuple[str, str, str]]:
    """What a reader might write: what it is, its source, the state it should reach."""
    lab, name = exercise["chapter"], exercise["name"]
    yield "the lab's answer", cell_of(lab, name), "passed"
    is_kernel = exercise["kind"] == "kernels"  # some starters do too much, or wrong
    yield "the starter", exercise["starter"], "unfinished" if is_kernel else "to do"
    for path in answers(lab, name):
        source = path.read_text(encoding="utf-8")
        if not names_in(source) & set(exercise["left_out"]):
            state = "passed" if path.name.startswith("right_") else "failed"
            yield path.stem, source, state


def answers(lab: str, name: str) -> list[Path]:
    """The files with wrong and right answers to an exercise."""
    return sorted((ROOT / "chapters" / lab / "answers" / name).glob("*.py"))


def words(lab: str, name: str) -> set[str]:
    """The names in all answers to an exercise."""
    texts = [cell_of(lab, name), *(p.read_text("utf-8") for p in answers(lab, name))]
    return set().union(*map(names_in, texts))


def names_in(source: str) -> set[str]:
    """The names in a source; none in one that Python cannot read."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set()
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}


def few(exercise: Data) -> Iterator[tuple[str, str, str]]:
    """The sources of an exercise; in kernels the first of each state."""
    seen = set()
    for what, source, state in sources(exercise):
        if exercise["kind"] == "functions" or state not in seen:
            seen.add(state)
            yield what, source, state


@cache
def survey() -> dict[tuple[str, str], str]:
    """Of every plain function that a lab asks for, why no page can check it, or ""."""
    found, exported = {}, []
    for lab in syllabus.names():
        for name in checks(lab):
            try:
                exported.append(export(lab, name, kernels=False))
            except NotInPage as reason:
                found[lab, name] = str(reason)
    for each, trial in zip(exported, tried(exported), strict=True):
        found[each["chapter"], each["name"]] = trial.reason
    return dict(sorted(found.items()))
