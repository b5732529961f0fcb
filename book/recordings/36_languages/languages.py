"""Fifteen kernels, three in each of five languages: their files, lines and one check.

A file has one kernel. The files of Python define `bind(*tensors)`, which returns a
function that launches the kernel on PyTorch's current stream; those of CUDA C++ define
`launch`. The tensors are `x, out` for a sum of a vector and a softmax of rows, and
`a, w, c` for a product, c = a @ w.T.
"""

import ast
import ctypes
import hashlib
import importlib.util
import io
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TASKS = ("sum", "softmax", "gemm")
LANGUAGES = ("numba", "triton", "gluon", "cutile", "cuda")
NVCC = (
    *("nvcc", "-O3", "-std=c++17", "-gencode", "arch=compute_90a,code=sm_90a"),
    *("-shared", "-Xcompiler", "-fPIC"),
)

Launch = Callable[[], Any]
Bind = Callable[..., Launch]

# Other values of a file's constants. A tile language is tuned by these alone.
CHOICES: dict[tuple[str, str], tuple[str, ...]] = {
    ("numba", "sum"): ("BLOCK, BLOCKS = 1024, 528",),
    ("cuda", "sum"): ("BLOCK = 1024, BLOCKS = 528;",),
    ("triton", "sum"): (
        "BLOCK, PROGRAMS, WARPS = 4096, 1056, 4",
        "BLOCK, PROGRAMS, WARPS = 16384, 264, 16",
    ),
    ("gluon", "sum"): (
        "BLOCK, PROGRAMS, WARPS = 4096, 1056, 4",
        "BLOCK, PROGRAMS, WARPS = 16384, 264, 16",
    ),
    ("cutile", "sum"): (
        "TILE, BLOCKS, OCCUPANCY, TMA = 2048, 528, 4, True",
        "TILE, BLOCKS, OCCUPANCY, TMA = 4096, 264, 2, True",
        "TILE, BLOCKS, OCCUPANCY, TMA = 4096, 132, 1, True",
        "TILE, BLOCKS, OCCUPANCY, TMA = 2048, 1056, 8, False",
        "TILE, BLOCKS, OCCUPANCY, TMA = 4096, 528, 4, False",
        "TILE, BLOCKS, OCCUPANCY, TMA = 8192, 264, 2, False",
    ),
    ("numba", "softmax"): ("BLOCK, WARPS, EACH = 512, 16, 8",),
    ("cuda", "softmax"): ("BLOCK = 512, WARPS = BLOCK / 32, EACH = 8;",),
    ("triton", "softmax"): ("WIDTH, WARPS = 4096, 4", "WIDTH, WARPS = 4096, 16"),
    ("gluon", "softmax"): ("WIDTH, WARPS = 4096, 4", "WIDTH, WARPS = 4096, 16"),
    ("cutile", "softmax"): (
        "WIDTH, OCCUPANCY, WARPS, TMA = 4096, 2, 4, False",
        "WIDTH, OCCUPANCY, WARPS, TMA = 4096, 8, 4, False",
        "WIDTH, OCCUPANCY, WARPS, TMA = 4096, 4, 8, False",
        "WIDTH, OCCUPANCY, WARPS, TMA = 4096, 4, 4, True",
        "WIDTH, OCCUPANCY, WARPS, TMA = 4096, 8, 8, True",
    ),
    ("triton", "gemm"): (
        "BM, BN, BK, STAGES, GROUP, PROGRAMS = 128, 256, 64, 3, 8, 132",
    ),
    ("gluon", "gemm"): (
        "BM, BN, BK, STAGES, GROUP, PROGRAMS = 128, 256, 64, 3, 8, 132",
    ),
    ("cutile", "gemm"): (
        "TM, TN, TK, GROUP, WARPS = 128, 256, 64, 8, 4",
        "TM, TN, TK, GROUP, WARPS = 128, 128, 64, 8, 4",
        "TM, TN, TK, GROUP, WARPS = 256, 128, 64, 8, 8",
        "TM, TN, TK, GROUP, WARPS = 128, 256, 64, 16, 8",
    ),
}

# The same mistake in all five: the last numbers are left out, a row's maximum is not
# subtracted, or every step multiplies the first columns of w.
MISTAKES = {
    ("numba", "sum"): ("if rest < x.size:", "if rest < 0:"),
    ("triton", "sum"): ("mask=i < n,", "mask=i < n // 4 * 4,"),
    ("gluon", "sum"): ("mask=i < n,", "mask=i < n // 4 * 4,"),
    ("cutile", "sum"): ("bid(0), tiles,", "bid(0), tiles - 1,"),
    ("cuda", "sum"): ("if (first < n % 4)", "if (first < 0)"),
    ("numba", "softmax"): ("math.exp(v[i] - top)", "math.exp(v[i])"),
    ("triton", "softmax"): ("tl.exp(v - tl.max(v, 0))", "tl.exp(v)"),
    ("gluon", "softmax"): ("gl.exp(v - gl.max(v, 0))", "gl.exp(v)"),
    ("cutile", "softmax"): ("ct.exp(v - ct.max(v))", "ct.exp(v)"),
    ("cuda", "softmax"): ("__expf(v[i] - top)", "__expf(v[i])"),
    ("numba", "gemm"): ("map_w, x, col", "map_w, int32(0), col"),
    ("triton", "gemm"): ("w.load([j * BN, start])", "w.load([j * BN, 0])"),
    ("gluon", "gemm"): ("(w, [col, start]", "(w, [col, 0]"),
    ("cutile", "gemm"): ("w, index=(k, j)", "w, index=(0, j)"),
    ("cuda", "gemm"): ("&map_w, {start, tile.y}", "&map_w, {0, tile.y}"),
}


@dataclass(frozen=True)
class Program:
    """A file, as it is, with other constants, or with its mistake.

    choice: a number of `CHOICES`, -1 for the constants of the file.
    """

    language: str
    task: str
    choice: int = -1
    wrong: bool = False

    @property
    def path(self) -> Path:
        suffix = "cu" if self.language == "cuda" else "py"
        return HERE / f"{self.language}_{self.task}.{suffix}"

    @property
    def name(self) -> str:
        """A name for the files that are made of it."""
        made = "wrong" if self.wrong else "" if self.choice < 0 else str(self.choice)
        return self.path.stem + made

    @property
    def constants(self) -> str:
        """The line with its constants."""
        if self.choice >= 0:
            return CHOICES[self.language, self.task][self.choice]
        return first_constants(self.path.read_text(encoding="utf-8"))

    @property
    def source(self) -> str:
        text = self.path.read_text(encoding="utf-8")
        if self.choice >= 0:
            text = replaced(text, first_constants(text), self.constants)
        if self.wrong:
            text = replaced(text, *MISTAKES[self.language, self.task])
        return text


def programs() -> Iterator[Program]:
    """Go through all that is measured: every file with each of its constants."""
    for task in TASKS:
        for language in LANGUAGES:
            choices = len(CHOICES.get((language, task), ()))
            for choice in range(-1, choices):
                yield Program(language, task, choice)


def first_constants(text: str) -> str:
    """Return the first statement that gives values to names in capitals."""
    for line in text.splitlines():
        line = line.removeprefix("constexpr int ")
        if line.split(" = ")[0].replace(", ", "").replace("_", "").isupper():
            return line
    raise ValueError("no constants")


def replaced(text: str, old: str, new: str) -> str:
    """Replace what is in a text. Raises ValueError where it is not."""
    if old not in text:
        raise ValueError(f"no {old!r}")
    return text.replace(old, new)


# Lines


def code_lines(path: Path) -> int:
    """Count lines of code: without comments, docstrings, blank lines and imports."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".cu":
        lines = (line.strip() for line in text.splitlines())
        skipped = ("//", "#include")
        return sum(bool(line) and not line.startswith(skipped) for line in lines)
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING):
            found |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom) or is_docstring(node):
            found -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(found)


def is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def digest() -> str:
    """Return a digest of everything that is measured."""
    text = "".join(program.source for program in programs())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# Loading


def loaded(program: Program, folder: Path) -> Bind:
    """Return a program's `bind`. Raises whatever its language says of it.

    folder: where what is made of it goes, and stays.
    """
    if program.language == "cuda":
        return bound(program.task, built(program, folder))
    path = folder / f"{program.name}.py"
    path.write_text(program.source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(program.name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[program.name] = module
    spec.loader.exec_module(module)
    found: Bind = module.bind
    return found


def built(program: Program, folder: Path) -> Path:
    """Compile CUDA C++ for `sm_90a`, unless that is done. Raises RuntimeError."""
    target = folder / f"{program.name}.so"
    if not target.is_file():
        path = target.with_suffix(".cu")
        path.write_text(program.source, encoding="utf-8")
        done = subprocess.run(
            [*NVCC, "-o", str(target), str(path)], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-800:])
    return target


def bound(task: str, library: Path) -> Bind:
    """Return the `bind` of a library's `launch`."""
    function = ctypes.CDLL(str(library)).launch

    def bind(*tensors: Any) -> Launch:
        import torch

        sizes = {
            "sum": lambda x, out: (x.numel(),),
            "softmax": lambda x, out: x.shape,
            "gemm": lambda a, w, c: (*c.shape, a.shape[1]),
        }[task](*tensors)
        given = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]
        given += [ctypes.c_int(size) for size in sizes]

        def launch() -> None:
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            if status := function(*given, stream):
                raise RuntimeError(f"CUDA error {status}")

        return launch

    return bind


# The check: float64 is right

SIZES: dict[str, tuple[tuple[int, ...], ...]] = {
    "sum": ((1,), (5,), (4099,), (1048579,)),
    "softmax": ((3, 1), (7, 1000), (5, 4095), (64, 4096)),
    "gemm": ((1000, 1032, 1000), (333, 264, 200), (128, 256, 64)),
}
SMALL: dict[str, tuple[tuple[int, ...], ...]] = {
    "sum": ((5,), (4099,)),
    "softmax": ((2, 1000), (1, 4096)),
    "gemm": ((72, 264, 72),),
}


def inputs(task: str, size: tuple[int, ...], device: str, kind: str) -> list[Any]:
    """Return the inputs of a case; rows of a softmax are far from 0.

    kind: the dtype of a product's matrices, `bfloat16` where that can be computed.
    """
    import torch

    make = torch.Generator(device).manual_seed(36 + sum(size))
    options: dict[str, Any] = {"device": device, "generator": make}
    if task == "gemm":
        m, n, k = size
        half = getattr(torch, kind)
        return [torch.randn(rows, k, **options).to(half) for rows in (m, n)]
    x = torch.randn(*size, **options)
    return [3 * x + 100 if task == "softmax" else x]


def reference(task: str, *given: Any) -> tuple[Any, Any]:
    """Return the result in float64, and how far from it a result may be."""
    import torch

    if task == "sum":
        x = given[0].double()
        return x.sum().reshape(1), 1e-6 * x.abs().sum().reshape(1)
    if task == "softmax":
        exact = torch.softmax(given[0].double(), 1)
        return exact, 1e-5 * exact + 1e-9
    a, w = given
    exact = a.double() @ w.double().T
    return exact, 2**-8 * exact.abs() + 1e-4 * a.shape[1] ** 0.5


def guarded(given: list[Any], exact: Any) -> tuple[Any, Any]:
    """Return an output full of NaN, and the memory after it, which nobody may touch."""
    import torch

    kind = torch.float32 if given[0].dtype == torch.float32 else given[0].dtype
    shape = exact.shape[0] + 64, *exact.shape[1:]
    whole = torch.full(shape, float("nan"), device=exact.device, dtype=kind)
    return whole[: exact.shape[0]], whole[exact.shape[0] :]


def fault(
    task: str, bind: Bind, size: tuple[int, ...], device: str, kind: str = "bfloat16"
) -> str:
    """Say what is wrong with three launches on one case, "" for nothing."""
    import torch

    given = inputs(task, size, device, kind)
    exact, allowed = reference(task, *given)
    out, beyond = guarded(given, exact)
    launch = bind(*given, out)
    for _ in range(3 if device == "cuda" else 1):
        out.fill_(float("nan"))
        launch()
        if device == "cuda":
            torch.cuda.synchronize()
        off = (out.double() - exact).abs()
        if not bool((off <= allowed).all()):  # a NaN is off, too
            wrong = int((~(off <= allowed)).sum())
            return f"{size}: {wrong} of {off.numel()} results are wrong"
        if not bool(beyond.isnan().all()):
            return f"{size}: written past the end"
    return ""


def faults(task: str, bind: Bind, device: str, kind: str = "bfloat16") -> list[str]:
    """Say what is wrong with a kernel on all sizes, [] for nothing."""
    sizes = SIZES if device == "cuda" else SMALL
    found = (fault(task, bind, size, device, kind) for size in sizes[task])
    return [said for said in found if said]


def main() -> None:
    """Check programs of one language on the CPU: `python languages.py triton`.

    Triton's own interpreter runs them where TRITON_INTERPRET=1 is set.
    """
    with tempfile.TemporaryDirectory() as folder:
        for task in TASKS:
            for wrong in (False, True):
                program = Program(sys.argv[1], task, wrong=wrong)
                bind = loaded(program, Path(folder))
                print(program.name, faults(task, bind, "cpu", "float16"))


if __name__ == "__main__":
    main()
