"""The inspector refuses each way out of an answer that we know, and no right answer."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from grading.answers import Answer, Submission, _judged
from grading.course import keep_answers
from grading.naming import scopes
from grading.paper import Paper, cells_of
from grading.pieces import pieces
from verification.corpus import answers, under_magic

ROOT = Path(__file__).parents[1]
LABS = sorted(path.stem for path in (ROOT / "labs").glob("*.ipynb"))
# The body of a function `blocks_for(n)` of lab 5; what does not begin there is the
# whole answer.
CHEATS = {
    # names of Python
    "os": "import os",
    "os within": "import numpy.os as x",
    "sys of a module": "import statistics\n    statistics.sys._getframe(1)",
    "sys of dataclasses": "import dataclasses\n    dataclasses.inspect",
    "from": "from statistics import sys",
    "relative": "from . import check",
    "numba's config": "import numba.core.config as c\n    c.os._exit(0)",
    "numba's core": "import numba\n    numba.core.config.os",
    "builtin": "open('x', 'w')",
    "import function": "__import__('os')",
    "builtins": "__builtins__['open']('x')",
    "id": "id(n)",
    "vars": "vars(np)",
    "exec": "exec('import os')",
    "len defined": (
        "def len(x):\n    return 7\n\ndef blocks_for(n):\n    return len(())"
    ),
    "len assigned": "len = lambda x: 7\n\ndef blocks_for(n):\n    return len(())",
    "range imported": (
        "from math import ceil as range\n\ndef blocks_for(n):\n    range(1)"
    ),
    "builtins' dunder": "__import__ = print\n\ndef blocks_for(n):\n    return 0",
    "default": "def blocks_for(n, *, eval=eval, open=open):\n    return eval('1')",
    "class body": (
        "class A:\n    open = open\n\ndef blocks_for(n):\n    return A.open('x')"
    ),
    "decorator": "@exec\ndef blocks_for(n):\n    return 0",
    "comprehension": "[f('x') for f in [open]]",
    "lambda": "(lambda f=eval: f('1'))()",
    "walrus": "(o := open)('x')",
    "notebook": "get_ipython().system('ls')",
    "outputs": "Out[3]",
    "eval of its own": "eval('1')",
    "eval of an argument": (
        "def run(line):\n    return eval(line)\n\n"
        "def blocks_for(n):\n    return run('1')"
    ),
    "global check": "global check\n    check = print",
    "global len": "global len\n    len = print",
    # attributes
    "class": "().__class__.__base__.__subclasses__()",
    "globals": "blocks_for.__globals__",
    "frame of a generator": "(k for k in ()).gi_frame.f_back",
    "frame of an error": (
        "try:\n        1 / 0\n    except ZeroDivisionError as e:\n"
        "        e.__traceback__.tb_frame"
    ),
    "getattr": "getattr(np, 'fromfile')('x')",
    "getattr computed": "getattr((), '__cl' + 'ass__')",
    "getattr as a value": "import functools\n    functools.reduce(getattr, 'ab', np)",
    "getattr renamed": "g = getattr\n    g(n, 'x')",
    "attrgetter": "import operator\n    operator.attrgetter('__class__')(n)",
    "attrgetter imported": "from operator import attrgetter",
    "methodcaller": "import operator as o\n    o.methodcaller('tofile', 'x')(n)",
    "partial": "import functools\n    functools.partial(getattr, n)('x')",
    "match": "match n:\n        case object(__class__=c):\n            return c",
    "match a frame": "match n:\n        case object(gi_frame=f):\n            return f",
    "format": "'{0.__class__}'.format(n)",
    "format of a frame": "'{0.gi_frame.f_back.f_locals[wanted]}'.format(n)",
    "format by index": "'{0[x]}'.format(n)",
    "format in a format": "'{0:{1.__class__}}'.format(n, n)",
    "format_map": "'{n.__class__}'.format_map({'n': n})",
    "format of text": "text = '{0.__cl' + 'ass__}'\n    text.format(n)",
    "str.format": "str.format('{0.__class__}', n)",
    "an f-string": "f'{n.__class__}'",
    "type of three": "type('A', (), {'__eq__': lambda a, b: True})",
    "type as a value": "list(map(type, ['A'], [()], [{}]))",
    "metaclass": "class M(type):\n        pass",
    "always equal": (
        "class A:\n        def __eq__(self, other):\n            return True"
    ),
    "always equal, assigned": "class A:\n        __eq__ = lambda a, b: True",
    "descriptor": "class A:\n        def __set_name__(self, a, b):\n            pass",
    "module of an error": (
        "try:\n        np.none\n    except AttributeError as e:\n        m = e.obj"
    ),
    "module of an error, matched": (
        "try:\n        np.none\n    except AttributeError as e:\n"
        "        match e:\n            case AttributeError(obj=m):\n                m"
    ),
    "type of a type": "t = type(type(n))\n    t('A', (), {})",
    "type of a class": "type(int)('A', (), {'__eq__': print})",
    "type of a class, starred": "type(int)(*['A', (), {}])",
    "typing's metaclass": "import typing\n    typing.NamedTupleMeta('A', (), {})",
    "wraps": "import functools\n    functools.wraps(n, assigned=('gi_frame',))(n)",
    "star at the top": "if True:\n    from numpy import *\n\ndef blocks_for(n):\n    1",
    # modules
    "np as a value": "m = [np]",
    "np to a function": "print(np)",
    "np kept": "class A:\n        pass\n    a = A()\n    a.m = np",
    "np changed": "np.zeros = print",
    "np changed by another name": "m = np\n    m.zeros = print",
    "np deleted": "del np.zeros",
    "cuda changed": "cuda.grid = print",
    "a class changed": "c = np.ndarray\n    c.sum = print",
    "changed through a call": "type(n).real = 1",
    "weft": "import weft.checking",
    "weft.check": "weft.check = print",
    "check": "check(blocks_for)",
    "weft's kinds": "from weft.checking.kinds import KINDS",
    "np.fromfile": "np.fromfile('x')",
    "tofile": "np.zeros(3).tofile('x')",
    "np.save": "np.save('x', n)",
    "np.load": "np.load('x', allow_pickle=True)",
    "from numpy": "from numpy import load",
    "np.memmap": "np.memmap('x')",
    "np.genfromtxt": "np.genfromtxt('x')",
    "np.DataSource": "np.DataSource().open('x')",
    "np.ctypeslib": "np.ctypeslib.ctypes",
    "np.lib.format": "np.lib.format.open_memmap('x')",
    "np.testing": "np.testing.assert_equal = print",
    "np.f2py": "np.f2py.os",
    "np.bmat": "np.bmat('wanted')",
    "ctypes of an array": "np.zeros(1).ctypes._ctypes",
    "data_as": "np.zeros(1).ctypes.data_as(n)",
    "ctypes where it is not given": "import ctypes",
    "ctypes": "import ctypes\n    ctypes.pythonapi['PyRun_SimpleString']",
    "ctypes.util": "import ctypes.util",
    "cast": "from ctypes import cast, py_object",
    "from_address": "from ctypes import c_int\n    c_int.from_address(8)",
    "torch.load": "import torch\n    torch.load('x')",
    "torch.save": "import torch\n    torch.save(n, 'x')",
    "torch.hub": "import torch\n    torch.hub.download_url_to_file('x', 'y')",
    "torch.utils": "import torch\n    torch.utils.collect_env.run('ls')",
    "torch.ops": "import torch\n    torch.ops.load_library('x')",
    "torch.library": "import torch\n    torch.library.Library('aten', 'IMPL')",
    "torch's storage": "import torch\n    torch.UntypedStorage.from_file('x')",
    "torch's os": "import torch\n    torch.os",
    "torch.serialization": "from torch.serialization import os",
    "torch changed": "import torch\n    torch.Tensor.numpy = print",
    "torch._C": "import torch\n    torch._C",
    "carray": "import numba\n    numba.carray(8, 3)",
    "objmode": "from numba import objmode",
    "cuda.cudadrv": "cuda.cudadrv.driver.os",
    "cuda.simulator": "cuda.simulator.kernel.threading",
    "signature": "cuda.jit('__import__(\"os\").getpid()')(print)",
    "signature computed": "cuda.jit('exit' + '()')(print)",
    "signature by name": "s = 'exit()'\n    cuda.jit(s)(print)",
    "signature in a list": "cuda.jit(['exit()'])(print)",
    "signature by keyword": "cuda.jit(func_or_sig='exit()')(print)",
    "signatures unpacked": "s = ['exit()']\n    cuda.jit(*s)(print)",
    "compile_ptx": "cuda.compile_ptx(print, 'exit()')",
    "compile": "cuda.jit(print).compile('exit()')",
    "cuda.config": "cuda.config.os",
    "np.emath": "np.emath.nx",
    "type hints": "import typing\n    typing.get_type_hints(blocks_for)",
    "annotation": "def blocks_for(n: '__import__(\"os\").getpid()'):\n    return 0",
    "annotation returned": "def blocks_for(n) -> 'exit()':\n    return 0",
    "annotation of a value": "x: 'exit()' = 1",
    "annotation within": "def blocks_for(n: list['exit()']):\n    return 0",
    "singledispatch": "from functools import singledispatch",
    "make_dataclass": "from dataclasses import make_dataclass",
    "contextlib": "import contextlib\n    contextlib.os",
    "collections": "import collections\n    collections._sys",
    "enum": "from enum import sys",
    "typing": "import typing\n    typing.sys.modules",
    "re": "import re\n    re.copyreg",
    "pickle": "import pickle",
    "importlib": "import importlib",
    "threading": "import threading",
    "inspect": "import inspect",
    "gc": "import gc",
    "given's Path": "Path('x').write_text('y')",
    "given's os": "os._exit(0)",
}
# What an answer may well do.
FINE = {
    "parameter called input": "def blocks_for(input):\n    return input",
    "own sum": "sum = 0\n    for k in range(n):\n        sum += k\n    return sum",
    "format": "'{:.2f} {name}'.format(n, name=n)",
    "format with a width": "'{:{}}'.format(n, 8)",
    "re.compile": "import re\n    re.compile('__[a-z]')",
    "print of a type": "print(type(n), type(n).__name__)",
    "an f-string": "f'{n:.2f} {n!r}'",
    "getattr": "getattr(n, 'grad', None)",
    "type": "type(n) is int",
    "another of its type": "type(n)(1)",
    "gpu": "gpu = cuda\n    gpu.grid(1)",
    "gpu at the top": "gpu = cuda\n\ndef blocks_for(n):\n    return gpu.grid(1)",
    "numpy again": "import numpy as np\n    np.zeros(3)",
    "a heap": "import heapq\n    heapq.heappush([], n)",
    "random": "np.random.default_rng(0).random(3)",
    "linalg": "np.linalg.norm(np.zeros(3))",
    "signature": "cuda.jit('void(float32[:], int32)', device=True)",
    "signature of types": "cuda.jit(float32(float32))",
    "annotation": "def blocks_for(n: 'int') -> list['int']:\n    return n",
    "global of its own": "global COUNT\n    COUNT = 1",
    "dataclass": (
        "from dataclasses import dataclass\n\n@dataclass\nclass Tile:\n"
        "    rows: int = 1\n\n    def size(self):\n        return self.rows\n\n"
        "def blocks_for(n):\n    return Tile().size()"
    ),
    "private of itself": (
        "class A:\n    def __init__(self):\n        self._n = 1\n\n"
        "    def get(self):\n        return self._n\n\n"
        "def blocks_for(n):\n    return A().get()"
    ),
    "exception": (
        "try:\n        1 / n\n    except ZeroDivisionError as e:\n        print(e)"
    ),
    "eval of what is given": "def blocks_for(n):\n    return eval(n)",
}


def whole(code: str) -> str:
    """An answer with this in the body of its function, unless it has a function."""
    return code if "def blocks_for" in code else f"def blocks_for(n):\n    {code}\n"


@pytest.fixture(scope="module")
def paper() -> Paper:
    return Paper("05_first_kernel", ROOT / "labs" / "05_first_kernel.ipynb")


@pytest.mark.parametrize(
    "code",
    [
        "def blocks_for(n):\n    return 1\n\nblocks_for.x = 1; open('x', 'w')",
        "blocks_for = f; open('x', 'w')",
        "open('x', 'w'); blocks_for = f",
        's = """\n"""; open("x"); blocks_for = s',
        "s = '\u2028\u2028\u2028'\nblocks_for = 1\nopen('x')\nimport os\nos.x",
        "s = '\x0c\x0b'\n\nblocks_for = 1\nopen('x')\nimport os\nos.x",
    ],
)
def test_what_is_read_is_what_runs(paper: Paper, code: str) -> None:
    own, given = {"blocks_for"}, paper.given - {"blocks_for"}
    found = Submission([code], paper.known).answer("blocks_for", own, given)
    assert found
    assert "open" not in found.source
    assert "os" not in found.source


@pytest.mark.parametrize(
    "code",
    [
        "blocks_for, np = print, print",
        "blocks_for = check = print",
        "def np():\n    pass\n\nblocks_for, np = print, print",
        "import numpy as np\nblocks_for, np = print, print",
        "if True:\n    blocks_for = check = print",
    ],
)
def test_names_of_the_lab_stay_what_they_are(paper: Paper, code: str) -> None:
    own, given = {"blocks_for"}, paper.given - {"blocks_for"}
    found = Submission([code], paper.known).answer("blocks_for", own, given)
    assert found
    assert "gives another meaning to" in found.refused


def test_nbgrader_gets_only_what_was_read(paper: Paper) -> None:
    path = ROOT / "labs" / f"{paper.lab}.ipynb"
    lab = json.loads(path.read_text(encoding="utf-8"))
    cheat = "def blocks_for(n):\n    return n.__class__.__mro__\n"
    submitted = {"cells": [{"cell_type": "code", "source": cheat}]}
    cells = keep_answers(paper, lab, submitted)["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    assert "# Line 2 uses `.__mro__`, which an answer may not do." in text
    assert "__class__" not in text.replace("`.__class__`", "")


def test_an_exercise_in_python_takes_no_c(paper: Paper) -> None:
    cell = '%%c blocks_for\nint blocks_for(int n) { return system("ls"); }'
    script = paper.script(Submission([cell], paper.known))
    assert script.missing["blocks_for"].refused == "This exercise is not written in C."


def judged(paper: Paper, code: str) -> Answer:
    return _judged(list(pieces(whole(code))), paper.known)


@pytest.mark.parametrize("code", CHEATS.values(), ids=CHEATS)
def test_a_way_out_is_refused(paper: Paper, code: str) -> None:
    known = paper.known
    given = {"os": {"os"}, "Path": {"pathlib.Path"}, "weft": {"weft"}}
    with_more = type(known)(known.names, {**given, **known.imports})
    found = _judged(list(pieces(whole(code))), with_more)
    assert found.source == ""
    assert found.refused.startswith("Line ")


@pytest.mark.parametrize("code", FINE.values(), ids=FINE)
def test_what_an_answer_needs_is_not_refused(paper: Paper, code: str) -> None:
    assert judged(paper, code).refused == ""


def test_what_is_given_as_a_module_is_refused_as_well() -> None:
    """Lab 25 imports ctypes, which runs any code."""
    paper = Paper("25_cublas", ROOT / "labs" / "25_cublas.ipynb")
    code = "ctypes.pythonapi['PyRun_SimpleString'](b'import os')"
    assert "`ctypes.pythonapi`" in judged(paper, code).refused
    assert judged(paper, "ctypes.byref(ctypes.c_int(n))").refused == ""


def test_scopes() -> None:
    text = "def f(a, b=c):\n    d = a\n    return [e for e in d if g]\n"
    assert scopes(text) == ({"c", "g"}, {"f"})
    outside, _ = scopes("class A:\n    open = open\n")
    assert "open" in outside


def in_tiers() -> Iterator[object]:
    """Yield every sixth lab in the fast tier."""
    for number, lab in enumerate(LABS):
        marks = [pytest.mark.long] if number % 6 else []
        yield pytest.param(lab, marks=marks)


@pytest.mark.parametrize("lab", list(in_tiers()))
def test_no_answer_of_the_course_is_refused(lab: str) -> None:
    """Neither a right one nor a wrong one: those get their verdicts."""
    paper = Paper(lab, ROOT / "labs" / f"{lab}.ipynb")
    refused = {}
    solved = Submission(cells_of(ROOT / "solutions" / f"{lab}.ipynb"), paper.known)
    for exercise in paper.exercises:
        own = paper.own[exercise]
        answer = solved.answer(exercise, own, paper.given - own)
        assert answer, exercise
        refused[exercise] = answer.refused
    starters = {e: paper.cells[number] for number, e in paper.defines.items()}
    for path in answers(lab):
        exercise, text = path.parent.name, path.read_text(encoding="utf-8")
        own, starter = paper.own[exercise], starters[exercise]
        one = Submission([under_magic(path, text)], paper.known)
        answer = one.answer(exercise, own, paper.given - own, starter)
        if answer and answer.kind != "syntax":
            refused[f"{exercise}/{path.stem}"] = answer.refused
    assert {name: why for name, why in refused.items() if why} == {}
