"""The process that compiles: Numba without its simulator, one job after another.

Started as a script by `weft.compiling`. Jobs arrive on its standard input, and answers
go to its standard output. Each message is a pickle, preceded by its length. The process
ends when its input does.
"""

import dis
import gc
import importlib
import itertools
import marshal
import os
import pickle
import re
import struct
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

Job = dict[str, Any]
Lowered = tuple[Any, dict[str, Any]]  # NVVM's input: modules, and its options

MOST_BYTES = 1 << 28  # of the longest message
OLDEST = (7, 5)
NEWEST = ((10, 0), (9, 0), (8, 9), (8, 6), (8, 0))


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing else may be written there
    jobs = sys.stdin.buffer
    try:
        compiler = Compiler()
        # Collecting garbage among Numba's many objects was an eighth of compiling.
        gc.freeze()
        gc.set_threshold(50_000, 25, 25)
        write(answers, {"ready": True, "capabilities": compiler.capabilities})
    except Exception as error:
        write(answers, {"ready": False, "why": first_line(error)})
        return
    while (job := read(jobs)) is not None:
        try:
            write(answers, compiler.answer(job))
        except Exception as error:
            write(answers, {"skipped": first_line(error)})


def write(stream: IO[bytes], message: Any) -> None:
    data = pickle.dumps(message)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def read(stream: IO[bytes]) -> Any:
    """Read the next message; return None at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    size = struct.unpack("<Q", head)[0]
    if size > MOST_BYTES:
        raise ValueError("this is no message")
    return pickle.loads(stream.read(size))


def arch(capability: tuple[int, int]) -> str:
    """Name a compute capability as NVVM does."""
    return f"compute_{capability[0]}{capability[1]}"


class Compiler:
    """Numba, prepared to compile for a GPU that is not present."""

    def __init__(self) -> None:
        # Importing `weft` would choose the simulator; only its modules are needed.
        package = types.ModuleType("weft")
        package.__path__ = [str(Path(__file__).parents[1])]
        sys.modules["weft"] = package
        self.cuda: Any = importlib.import_module("numba.cuda")
        self.numba: Any = importlib.import_module("numba")
        backend: Any = importlib.import_module("weft.backend")
        self._device = backend.pretend_device(OLDEST)
        nvvm: Any = importlib.import_module("numba.cuda.cudadrv.nvvm")
        self._compile_ir = nvvm.compile_ir
        nvvm.compile_ir = self._noting
        self._target = backend.target_capability
        backend.target_capability = self._told
        self._lowered: Lowered | None = None
        self._depends = False  # whether the result depends on the capability
        self._called: list[Any] = []  # the kernel of a job, and the functions it calls
        self._classes: list[Any] = []  # the learner's classes, in a job
        self.capabilities = self._choose()

    def _choose(self) -> list[tuple[int, int]]:
        """Return the oldest and the newest capability that NVVM supports.

        Only those in OLDEST and NEWEST are tried. A capability that is both is
        listed once.
        """

        def nothing(x):  # type: ignore[no-untyped-def]
            x[0] = 1

        signature = (self.numba.types.float32[::1],)
        oldest = self._first((OLDEST, *NEWEST[::-1]), nothing, signature)
        newest = self._first(NEWEST, nothing, signature)
        return [oldest] if oldest == newest else [oldest, newest]

    def _first(self, choices: Any, fn: Any, signature: Any) -> tuple[int, int]:
        error: Exception = ValueError("no capability")
        for capability in choices:
            try:
                ptx = self.ptx(fn, signature, capability, False)
            except Exception as found:
                error = found
                continue
            target = re.search(r"\.target sm_(\d+)(\d)", ptx)
            return (int(target[1]), int(target[2])) if target else capability
        raise error

    def ptx(
        self, fn: Any, signature: Any, capability: tuple[int, int], fastmath: bool
    ) -> str:
        """Return the PTX of a function, with line information if NVVM can provide it.

        For the older capabilities, NVVM 13 fails with ERROR_COMPILATION on a few valid
        kernels if it has to track lines.
        """
        self._device.compute_capability = capability
        options = {"cc": capability, "fastmath": fastmath}
        try:
            ptx, _ = self.cuda.compile_ptx(fn, signature, lineinfo=True, **options)
        except Exception as error:
            if type(error).__name__.lower() != "nvvmerror":
                raise
            ptx, _ = self.cuda.compile_ptx(fn, signature, lineinfo=False, **options)
        return str(ptx)

    def again(self, lowered: "Lowered | None", capability: tuple[int, int]) -> str:
        """Return the PTX of `lowered` for a capability; "" if Numba must start over.

        Numba's output for a kernel is the same for all capabilities that it supports
        here, unless an intrinsic has asked for the capability. Having NVVM compile this
        output takes a quarter of the time of a full compilation.
        """
        if lowered is None:
            return ""
        ir, options = lowered
        try:
            made = self._compile_ir(ir, **options | {"arch": arch(capability)})
        except Exception:
            return ""
        return str(made.decode().strip("\x00").strip())

    def _noting(self, ir: Any, **options: Any) -> Any:
        """Compile Numba's output for a function, and record that output."""
        made = self._compile_ir(ir, **options)
        named = options.get("arch") == arch(self._device.compute_capability)
        self._lowered = (ir, options) if named else None
        return made

    def _told(self) -> tuple[int, int] | None:
        """Return the target capability; record that an intrinsic has asked for it."""
        self._depends = True
        found: tuple[int, int] | None = self._target()
        return found

    def answer(self, job: Job) -> Job:
        """Compile a job's kernel for every capability; return an `Outcome`'s fields."""
        try:
            functions = self.unpack(job)
            signatures = [pickle.loads(each)[0] for each in job["signatures"]]
            signatures = signatures or [tuple(map(self.type_of, job["args"]))]
        except Exception as error:
            return {"unverified": f"what it names cannot be sent: {first_line(error)}"}
        kernel = functions[0]
        own = {fn.__code__.co_filename: fn for fn in functions}
        working = {
            (fn.__code__.co_filename, line)
            for fn in functions
            for line in working_lines(fn.__code__)
        }
        doubles: set[tuple[str, int]] = set()
        local: set[tuple[str, int]] = set()
        local_bytes = constant_bytes = 0
        needs = tuple(job.get("needs", (0, 0)))
        capabilities = sorted({max(one, needs) for one in self.capabilities})
        if capabilities[-1] > max(self.capabilities):
            newest = ".".join(map(str, max(self.capabilities)))
            return {"unverified": f"the compiler here knows no GPU after {newest}"}
        each = itertools.product(capabilities, enumerate(signatures))
        lowered: dict[int, Lowered | None] = {}  # by signature
        for capability, (number, signature) in each:
            try:
                ptx = self.again(lowered.get(number), capability)
                if not ptx:
                    self._lowered, self._depends = None, False
                    self.declare(job["functions"], capability)
                    ptx = self.ptx(kernel, signature, capability, job["fastmath"])
                    lowered[number] = None if self._depends else self._lowered
            except Exception as error:
                place = where(error, set(own))
                return {
                    "error": type(error).__name__,
                    "message": str(error),
                    "place": place,
                }
            doubles |= float64_lines(ptx, set(own), working)
            if ".loc" not in ptx and re.search(r"\b(add|sub|mul|fma|div)\S*\.f64", ptx):
                code = kernel.__code__
                doubles.add((code.co_filename, code.co_firstlineno))
            local |= local_lines(ptx, set(own))
            local_bytes = max(local_bytes, bytes_of(".local", ptx))
            constant_bytes = max(constant_bytes, bytes_of(".const", ptx))
        return {
            "capabilities": capabilities,
            "doubles": sorted(doubles),
            "local": sorted(local),
            "local_bytes": local_bytes,
            "constant_bytes": constant_bytes,
        }

    def declare(self, parcels: list[Job], capability: tuple[int, int]) -> None:
        """Compile device functions for their declared signatures."""
        self._device.compute_capability = capability
        for called, parcel in zip(self._called, parcels, strict=True):
            if parcel["compiled"] and parcel["signatures"]:
                for signature in map(pickle.loads, parcel["signatures"]):
                    called.compile_device(*signature)
                called.disable_compile()

    def unpack(self, job: Job) -> list[types.FunctionType]:
        """Return the functions of a job; device functions are compiled as such."""
        parcels = job["functions"]
        functions, scopes = [], []
        for parcel in parcels:
            scope: dict[str, Any] = {"__name__": "__main__"}
            cells = tuple(types.CellType() for _ in parcel["free"])
            functions.append(
                types.FunctionType(
                    marshal.loads(parcel["code"]),
                    scope,
                    parcel["name"],
                    None,
                    cells or None,
                )
            )
            scopes.append(scope)
        called = [
            self.cuda.jit(fn, device=True, lineinfo=True) if parcel["compiled"] else fn
            for fn, parcel in zip(functions, parcels, strict=True)
        ]
        self._called, self._classes = called, []
        own_classes: Any = importlib.import_module("weft.own_classes")
        for item in job["classes"]:
            made = own_classes.built(item, lambda value: self.value(value, called))
            self._classes.append(made)
        for fn, parcel in zip(functions, parcels, strict=True):
            defaults = [self.value(item, called) for item in parcel["defaults"]]
            fn.__defaults__ = tuple(defaults) or None
            for name, item in parcel["globals"].items():
                fn.__globals__[name] = self.value(item, called)
            free = {n: self.value(i, called) for n, i in parcel["free"].items()}
            for name, cell in zip(
                fn.__code__.co_freevars, fn.__closure__ or (), strict=True
            ):
                cell.cell_contents = free[name]
        return functions

    def value(self, item: Any, functions: list[Any]) -> Any:
        """Return the value that an item of a job represents."""
        kind, *rest = item
        if kind == "function":
            return functions[rest[0]]
        if kind == "module":
            return importlib.import_module(rest[0])
        if kind == "attribute":
            return getattr(importlib.import_module(rest[0]), rest[1])
        if kind == "class":
            return self._classes[rest[0]]
        if kind == "zeros":
            return importlib.import_module("numpy").zeros(
                rest[1], pickle.loads(rest[0])
            )
        if kind == "member":
            return self._classes[rest[0]](self.value(rest[1], functions))
        if kind in ("record", "parts"):
            parts = [self.value(part, functions) for part in rest[-1]]
            return self._classes[rest[0]](*parts) if kind == "record" else tuple(parts)
        return pickle.loads(rest[0])

    def type_of(self, item: Any) -> Any:
        """Return Numba's type for an argument."""
        kind, *rest = item
        if kind == "tuple":
            parts = tuple(self.type_of(part) for part in rest[0])
            return self.numba.types.BaseTuple.from_types(parts)
        if kind == "named":
            parts = tuple(self.type_of(part) for part in rest[1])
            made = self._classes[rest[0]]
            return self.numba.types.BaseTuple.from_types(parts, made)
        if kind == "array":
            dtype, ndim, layout = rest
            element = self.numba.from_dtype(pickle.loads(dtype))
            return self.numba.types.Array(element, ndim, layout)
        return self.numba.typeof(pickle.loads(rest[0]))


def where(error: BaseException, files: set[str]) -> tuple[str, int] | None:
    """Return the learner's file and line that Numba's `error` is about, or None.

    Looks for one of the learner's `files` in the message, then in Numba's objects in
    the frames of the traceback, then in the cause or context of `error`.
    """
    for file in files:
        said = re.search(rf"{re.escape(file)} \((\d+)\)", str(error))
        if said:
            return file, int(said[1])
    found = None
    trace = error.__traceback__
    while trace is not None:
        for value in list(trace.tb_frame.f_locals.values()):
            if type(value).__module__.startswith("numba"):
                found = spot(value, files) or found
        trace = trace.tb_next
    inner = error.__cause__ or error.__context__
    if found is None and inner is not None:
        return where(inner, files)
    return found


def spot(value: Any, files: set[str]) -> tuple[str, int] | None:
    """Return the learner's line that one of Numba's objects belongs to, or None."""
    try:
        at = getattr(value, "loc", value)
        filename, line = at.filename, at.line
        return (filename, line) if filename in files else None
    except Exception:  # its attributes may raise anything
        return None


def working_lines(code: types.CodeType) -> set[int]:
    """Return the lines with an operator, an element access or a float literal."""
    found, line = set(), 0
    for step in dis.get_instructions(code):
        line = (step.positions and step.positions.lineno) or line
        if step.opname.startswith(("BINARY", "UNARY", "COMPARE", "INPLACE")) or (
            isinstance(step.argval, float)
        ):
            found.add(line)
    return found


_LIFTED = {"abs", "cvt", "ld", "neg", "selp", "st"}


def float64_lines(
    ptx: str, files: set[str], working: set[tuple[str, int]]
) -> set[tuple[str, int]]:
    """Return the lines of `files` that compute in double precision.

    `.loc` in PTX says which line the next instructions come from, and for inlined code
    also the line that it was inlined into. The compiler moves some instructions, such
    as conversions and changes of sign, to unrelated lines, even the `def`, so these
    count only on the lines in `working`. A copy from register to register, as where
    branches meet again, does not count. If nothing counts, all lines with float64
    instructions are returned.
    """
    found: set[tuple[str, int]] = set()
    moved: set[tuple[str, int]] = set()
    for text, at in instructions(ptx, files):
        if step := re.match(r"\s*(?:@\S+\s+)?([a-z]\w*)[\w.]*\.f64", text):
            only_moves = step[1] in _LIFTED and at not in working
            (moved if only_moves or step[1] == "mov" else found).add(at)
    return found or moved


def local_lines(ptx: str, files: set[str]) -> set[tuple[str, int]]:
    """Return the lines of `files` that load from local memory or store to it."""
    return {
        at
        for text, at in instructions(ptx, files)
        if re.match(r"\s*(?:@\S+\s+)?(?:ld|st)\.local", text)
    }


def bytes_of(space: str, ptx: str) -> int:
    """Return a thread's bytes of local memory, or a kernel's bytes of constant memory.

    Registers that ptxas spills are not included.
    """
    pieces = re.findall(
        rf"^\s*(?:\.\w+\s+)*\{space}\b[^;=]*?\.[a-z](\d+)\s+[\w$]+\[(\d+)\]", ptx, re.M
    )
    return sum(int(bits) // 8 * int(count) for bits, count in pieces)


def instructions(ptx: str, files: set[str]) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield each line of PTX generated from `files`, with its source file and line."""
    named = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"(.*?)"', ptx, re.M))
    here: tuple[str, int] | None = None
    for text in ptx.splitlines():
        if ".loc" in text and (spots := re.findall(r"(\d+) (\d+) \d+", text)):
            known = [(named.get(f, ""), int(line)) for f, line in spots]
            # Line 0 is the compiler's own, such as the start of a loop.
            here = next(
                (
                    (known_file(f, files), line)
                    for f, line in known
                    if line and known_file(f, files)
                ),
                None,
            )
        elif here:
            yield text, here


def known_file(path: str, files: set[str]) -> str:
    """Return the file among `files` that PTX calls `path`, or '' if there is none."""
    end = path.replace("\\\\", "\\")
    return next((f for f in files if end == f or end.endswith("/" + f)), "")


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


if __name__ == "__main__":
    main()
