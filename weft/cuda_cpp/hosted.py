"""A host function that launches a learner's kernel: run without a GPU, and checked.

The cell is compiled with `torch.h`, a stand-in for PyTorch's C++ headers in which
tensors have a device and a launch runs its threads one after another. The function is
called with tensors of many kinds, and `host.cpp` reports what it launched, and where.
"""

import re
import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from weft.c import driver, reports
from weft.c import running as programs
from weft.c import words as compiler_words
from weft.c.source import Source
from weft.checking.cases import Case
from weft.checking.compare import difference
from weft.checking.verdict import Failed, Verdict, Verdicts
from weft.cuda_cpp import compiler, running
from weft.cuda_cpp.exercise import CudaCppExercise
from weft.cuda_cpp.judging import Judge
from weft.places import Note
from weft.simulator.limits import MAX_THREADS, WARP
from weft.simulator.memory.arrays import poison
from weft.wording import several

Array = np.ndarray[Any, Any]

TEXT = Template(Path(__file__).with_name("host.cpp").read_text(encoding="utf-8"))
STAND_IN = "torch.h"
HEADERS = (
    "ATen/ATen.h ATen/DeviceGuard.h ATen/Dispatch.h ATen/core/Tensor.h "
    "ATen/cuda/CUDAContext.h ATen/cuda/CUDAContextLight.h ATen/cuda/Exceptions.h "
    "ATen/ops/empty.h ATen/ops/empty_like.h ATen/ops/zeros.h ATen/ops/zeros_like.h "
    "c10/core/Device.h c10/core/DeviceGuard.h c10/core/ScalarType.h "
    "c10/cuda/CUDAException.h c10/cuda/CUDAFunctions.h c10/cuda/CUDAGuard.h "
    "c10/cuda/CUDAStream.h c10/util/Exception.h cuda.h cuda_runtime.h "
    "cuda_runtime_api.h torch/all.h torch/extension.h torch/library.h torch/torch.h "
    "torch/types.h"
).split()
HOST = "host"  # the file of the program that calls the function
ALONE = "static int weft_run"
OTHERWISE = f"""\
    std::string path = argv[0], host = "/{HOST}";
    if (path.size() < host.size() ||
        path.compare(path.size() - host.size(), host.size(), host) != 0)
        return weft_alone::weft_run(argc, argv);
"""
SIDE = 1  # the number of a stream other than the default one
# exit status of the stand-in if a kernel gets an address outside device memory
STRAY = 94

# The numbers of c10's ScalarType.
KINDS = {np.dtype(t): n for t, n in {"i4": 3, "i8": 4, "f4": 6, "f8": 7}.items()}
DTYPES = {number: dtype for dtype, number in KINDS.items()}

words = Verdicts(__file__)


# The cell, and the program around it


def launches_called(text: str) -> str:
    """Rewrite each `f<<<b, t>>>(x)` in a text as a C++ call, keeping line numbers."""
    out, at = "", 0
    while (mark := text.find("<<<", at)) >= 0:
        end = text.find(">>>", mark)
        if end < 0:
            break
        start = _start_of_callee(text, mark)
        line = text.count("\n", 0, mark) + 1
        config = text[mark + 3 : end]
        out += text[at:start]
        out += f"weft_launch({line}, {config}).of({text[start:mark]})"
        at = end + 3
    return out + text[at:]


def _start_of_callee(text: str, end: int) -> int:
    """Return where the name before a `<<<` begins; it may have template arguments."""
    at = end
    while at > 0 and text[at - 1].isspace():
        at -= 1
    if text[at - 1 : at] == ">":
        depth = 0
        while at > 0:
            at -= 1
            depth += {">": 1, "<": -1}.get(text[at], 0)
            if depth == 0:
                break
    while at > 0 and re.match(r"[\w:]", text[at - 1]):
        at -= 1
    return at


def prepared(source: Source, folder: Path) -> Source:
    """Write stand-in headers to a folder, and adapt the cell to them.

    Returns the cell with each launch turned into a call.
    """
    text = Path(__file__).with_name(STAND_IN).read_text("utf-8")
    (folder / STAND_IN).write_text(text)
    for header in HEADERS:
        path = folder / compiler.HEADERS / header
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#include "{STAND_IN}"\n')
    return Source(
        source.name, source.file, source.language, launches_called(source.text)
    )


def built_with(
    exercise: CudaCppExercise, source: Source, kernel: str, folder: Path
) -> bool:
    """Build one program that runs the host function when its file is named `HOST`.

    Under any other name, it runs the kernel. So the headers and the cell, which take
    longest to compile, are compiled only once. kernel: the text of the
    program that runs the kernel. Returns whether the build succeeded; if not, building
    two separate programs shows what the cell lacks.
    """
    fine, _ = compiler.built(program(source.file, exercise.host, kernel), folder)
    if fine:
        shutil.copy(folder / "program", folder / HOST)
    return fine


def inner(text: str) -> str:
    """Return what follows the cell in a program, adapted for use in another program."""
    lines = text.partition("#undef main\n")[2].splitlines()
    rest = "\n".join(line for line in lines if not line.startswith("#include"))
    return f"namespace weft_alone {{\n{rest}\n}}\n".replace("int main(", f"{ALONE}(")


def program(file: str, host: str, kernel: str = "") -> str:
    """Return the text of the program that calls the function declared by `host`.

    kernel: the text of another program, which runs instead unless the executable is
    named HOST.
    """
    name = re.findall(r"(\w+)\(", host)[0]
    lines, called, tensors = [], [], []
    for parameter in re.findall(r"\((.*)\)", host)[0].split(","):
        kind, each = parameter.strip().rsplit(maxsplit=1)
        each = each.lstrip("&*")
        called.append(each)
        if "Tensor" in kind:
            tensors.append(each)
            lines.append(f'    at::Tensor {each} = weft_tensor("{each}");')
        else:
            lines.append(f"    {kind} {each} = weft_read<{kind}>();")
    return TEXT.substitute(
        file=file,
        alone=inner(kernel) if kernel else "",
        chosen=OTHERWISE if kernel else "",
        seconds=driver.CPU_SECONDS,
        arguments="\n".join(lines),
        call=f"{name}({', '.join(called)})",
        tensors=", ".join(tensors),
    )


# The arguments of the function


@dataclass(frozen=True)
class Call:
    """One call: the inputs, where they are, and the expected outcome.

    inputs: numbers, and arrays to be passed as tensors with the same strides. devices:
    the device of each input, -1 for host memory. case: the case with the right results;
    None for inputs that must be refused. refused: the row of `hosted.toml` for a
    function that accepts such inputs. of: the name of the input that sets this call
    apart, or a description of inputs that do not fit. dry: whether only the launch is
    judged, so that arrays have a size, but no data, and no thread runs.
    """

    when: str
    inputs: tuple[Any, ...]
    devices: tuple[int, ...]
    case: Case | None = None
    refused: str = ""
    of: str = ""
    strided: bool = False
    dry: bool = False

    @property
    def packed(self) -> bytes:
        """The call in the format that the program reads."""
        data = struct.pack("=2q", SIDE, self.dry)
        for value, device in zip(self.inputs, self.devices, strict=True):
            data += _packed(value, device, self.dry)
        return data


def _packed(value: Any, device: int, dry: bool) -> bytes:
    if not isinstance(value, np.ndarray):
        return struct.pack("=d" if isinstance(value, float) else "=q", value)
    size = value.itemsize
    last = sum((n - 1) * s for n, s in zip(value.shape, value.strides, strict=True))
    count = last // size + 1 if value.size else 0
    whole = np.lib.stride_tricks.as_strided(value, (count,), (size,))
    strides = [stride // size for stride in value.strides]
    head = [KINDS[value.dtype], device, value.ndim, *value.shape, *strides, count]
    return struct.pack(f"={len(head)}q", *head) + (b"" if dry else whole.tobytes())


def strided(array: Array) -> Array:
    """Return an array stored column by column, or with gaps if it has only one axis.

    The gaps must not be read. They hold NaN, or an unlikely integer.
    """
    if array.ndim > 1:
        return np.asfortranarray(array)
    wide = np.empty(2 * array.size, array.dtype)
    poison(wide, "global")
    wide[::2] = array
    return wide[::2]


def calls(exercise: CudaCppExercise, cases: Sequence[Case]) -> Iterator[Call]:
    """Yield all calls of an exercise: those with a result, then those to be refused."""
    for case in cases:
        yield Call(case.label, case.inputs, (0,) * len(case.inputs), case)
    last = [case for case in cases if case.listed][-1]
    inputs, count = last.inputs, len(last.inputs)
    arrays = [k for k in range(count) if isinstance(inputs[k], np.ndarray)]
    names = re.findall(r"(\w+)\s*[,)]", exercise.host)

    def changed(k: int, value: Any) -> tuple[Any, ...]:
        return (*inputs[:k], value, *inputs[k + 1 :])

    for k in arrays:
        when = f"{last.label}, with strides"
        given = changed(k, strided(inputs[k]))
        yield Call(when, given, (0,) * count, last, of=names[k], strided=True)
    yield Call(f"{last.label}, on the second GPU", inputs, (1,) * count, last)
    for k in arrays:
        where = tuple(-1 if n == k else 0 for n in range(count))
        when = f"{names[k]} in the host's memory"
        yield Call(when, inputs, where, refused="host-memory", of=names[k])
    for k in arrays:
        wide = changed(k, inputs[k].astype(np.float64))
        when = f"{names[k]} in float64"
        yield Call(when, wide, (0,) * count, refused="wide", of=names[k])
    if exercise.refused is not None:
        for when, given in exercise.refused(*inputs).items():
            axes = [np.ndim(value) for value in given]
            row = "misfit" if axes == list(map(np.ndim, inputs)) else "dimensions"
            yield Call(when, given, (0,) * count, refused=row, of=when)
    for k in arrays[1:]:
        where = tuple(int(n == k) for n in range(count))
        when = f"{names[k]} on the second GPU"
        yield Call(when, inputs, where, refused="other-gpu", of=names[k])


# The outcome of a call


@dataclass(frozen=True)
class Launch:
    """A launch, as reported by the stand-in.

    stream: its device, and its number on that device. device: the current device. fits:
    whether a launch of this size is possible. checked: whether the function checked for
    an error afterwards.
    """

    line: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    stream: tuple[int, int]
    device: int
    fits: bool
    checked: bool

    @property
    def threads(self) -> int:
        """The number of threads in the launch."""
        return int(np.prod(self.grid) * np.prod(self.block))


def reported(said: str) -> list[Launch]:
    """Return the launches that the output of a run reports."""
    found: list[Launch] = []
    for line in re.findall(r"^weft: (launch .*|checked)$", said, re.M):
        if line == "checked":
            found[-1:] = [
                Launch(**(vars(each) | {"checked": True})) for each in found[-1:]
            ]
            continue
        n = [int(part) for part in line.split()[1:]]
        made = (n[0], (n[1], n[2], n[3]), (n[4], n[5], n[6]), (n[7], n[8]), n[9])
        found.append(Launch(*made, bool(n[10]), checked=False))
    return found


@dataclass(frozen=True)
class Result:
    """The tensor that a call has returned, and the inputs after the call.

    shares: whether the tensor shares memory with an input.
    """

    value: Array
    device: int
    shares: bool
    inputs: list[Array]


def result_of(ran: programs.Ran, call: Call) -> Result:
    """Return the result that the program wrote once the learner's function returned."""
    head, value, *rest = ran.results
    kind, device, shares, *shape = map(int, head)
    arrays = [a for a in call.inputs if isinstance(a, np.ndarray)]
    after = [
        now.view(a.dtype).reshape(a.shape) for now, a in zip(rest, arrays, strict=True)
    ]
    return Result(value.view(DTYPES[kind]).reshape(shape), device, bool(shares), after)


@dataclass(frozen=True)
class Called:
    """A call that has been run and is ready to be checked."""

    exercise: CudaCppExercise
    source: Source
    call: Call
    ran: programs.Ran
    rank: tuple[int, int]  # the ranks of the block and the thread that ran last

    @property
    def launches(self) -> list[Launch]:
        return reported(self.ran.said)

    @property
    def raised(self) -> str | None:
        """The message of the error that the function raised, or None."""
        found = re.search(r"^weft: raised (.*)$", self.ran.said, re.M)
        return found[1].strip() if found else None

    @property
    def wanted(self) -> Array:
        """The right result, in double precision."""
        assert self.call.case is not None
        result: Array = self.call.case.expected[0]
        return result

    def judge(self) -> None:
        """Check the call; raise `Failed` for the first thing that is wrong."""
        if self.call.case is None:
            self.refusal()
            return
        self.stopped()
        if not self.ran.results:
            lines = re.findall(r"^weft: refused (\d+)$", self.ran.said, re.M)[-1:]
            places = [(self.source.place(int(line)), "") for line in lines]
            raise self.failed("raised", places, said=self.raised or "")
        if not self.call.dry:
            self.values(result_of(self.ran, self.call))
            self.manner()

    def refusal(self) -> None:
        """Check a call with inputs that the function must refuse."""
        if self.raised is not None and not self.launches:
            return
        if self.ran.said.find("weft: out of time") >= 0:
            self.stopped()
        raise self.failed(self.call.refused, self.launch_lines)

    def stopped(self) -> None:
        """Raise `Failed` for an impossible launch, a stray pointer or a failed run.

        A stray pointer leads to an array that is not on the current GPU.
        """
        for launch in self.launches:
            if not launch.fits:
                raise self.unfit(launch)
        if stray := re.search(
            r"^weft: stray \d+ (\S+) (\d+) (\w*)$", self.ran.said, re.M
        ):
            row = "stray-host" if stray[1] == "cpu" else "stray-gpu"
            told = {"array": stray[3], "at": stray[1], "current": stray[2]}
            raise self.failed(row, self.launch_lines, **told)
        if self.ran.complete and not self.ran.late:
            return
        found = self._outside() or reports.verdict(self.source, self.ran)
        if found is not None:
            places = [*found.places, *self.launch_lines]
            raise Failed(found.but(when=self.call.when, places=places))

    def unfit(self, launch: Launch) -> Failed:
        """Return the failure for a launch that CUDA refuses."""
        count = self.wanted.size
        blocks, each = int(np.prod(launch.grid)), int(np.prod(launch.block))
        if 0 in launch.grid:
            row = "rounded-down" if count else "no-blocks"
        else:
            swapped = WARP <= blocks <= MAX_THREADS < each and blocks * each >= count
            row = "swapped" if swapped else "too-large"
        told = {
            "count": several(count, "element"),
            "blocks": shown(launch.grid, "block"),
            "each": shown(launch.block, "thread"),
            "swapped": f"{shown(launch.block, 'block')} of "
            + shown(launch.grid, "thread"),
        }
        return self.failed(row, self.launch_lines, **told)

    def _outside(self) -> Verdict | None:
        """Return the verdict on an error in a thread of the last launch, or None."""
        if not self.launches:
            return None
        last = self.launches[-1]
        launch = running.Launch(last.grid, last.block)
        rank = self.rank[0] * int(np.prod(last.block)) + self.rank[1]
        launched = running.Launched(self.ran, launch, {}, rank)
        return Judge(self.source, launched, {}, False, 0.0).stopped()

    def values(self, result: Result) -> None:
        """Check the tensor that was returned, and that the inputs are unchanged."""
        wanted = self.wanted
        arrays = [a for a in self.call.inputs if isinstance(a, np.ndarray)]
        if result.shares:
            raise self.failed("shares", self.returns)
        for before, after in zip(arrays, result.inputs, strict=True):
            if not np.array_equal(before, after, equal_nan=True):
                raise self.failed("input-written", self.launch_lines)
        if result.value.shape != wanted.shape:
            told = {"got": result.value.shape, "wanted": wanted.shape}
            raise self.failed("shape", self.returns, **told)
        if result.value.dtype != np.float32:
            raise self.failed("dtype", self.returns, got=result.value.dtype)
        if wanted.size and not self.launches:
            raise self.failed("no-launch", self.returns)
        wrong = difference(result.value, wanted, self.exercise.tolerance)
        if wrong is None:
            return
        if self.call.strided:
            told = {"array": self.call.of, "said": wrong.sentence("result")}
            raise self.failed("strided", self.launch_lines, **told)
        empty = np.isnan(result.value) & ~np.isnan(wanted)
        if empty.any():
            threads = self.launches[-1].threads
            told = {"missing": f"{int(empty.sum()):,}", "threads": f"{threads:,}"}
            told["count"] = f"{wanted.size:,}"
            row = "unwritten" if threads < wanted.size else "unwritten-by-enough"
            raise self.failed(row, self.launch_lines, **told)
        said = wrong.sentence("result")
        raise self.failed("wrong-value", self.launch_lines, said=said, lead=wrong.hint)

    def manner(self) -> None:
        """Check that each launch is on the current stream and is checked for errors.

        Also check that the host never waits.
        """
        for launch in self.launches:
            if launch.stream != (launch.device, SIDE):
                raise self.failed("stream", self.launch_lines)
            if not launch.checked:
                raise self.failed("unchecked", self.launch_lines)
        if "weft: waited" in self.ran.said:
            raise self.failed("waited", self._lines("Synchronize", "synchronize"))

    # Wording

    @property
    def launch_lines(self) -> list[Note]:
        """The lines that contain a launch."""
        return self._lines("<<<")

    @property
    def returns(self) -> list[Note]:
        """The last line found that returns a value, in a list that may be empty."""
        return self._lines("return ")[-1:]

    def _lines(self, *sought: str) -> list[Note]:
        lines = [n for each in sought for n in self.source.containing(each)]
        return [(self.source.place(n), "") for n in lines[:4]]

    def failed(self, row: str, places: Sequence[Note] = (), **told: Any) -> Failed:
        """Return the failure with the text of a row of `hosted.toml`."""
        told |= {"of": self.call.of}
        found = words.verdict(self.source.name, row, places, **told)
        return Failed(found.but(when=self.call.when))


def shown(size: tuple[int, ...], what: str) -> str:
    """Format a size in blocks or threads, such as `1 block` or `16 × 32 threads`."""
    while size[-1] == 1 and len(size) > 1:
        size = size[:-1]
    return f"{' × '.join(f'{n:,}' for n in size)} {what}{'s' * (size != (1,))}"


def judged(
    exercise: CudaCppExercise, source: Source, cases: Sequence[Case], folder: Path
) -> str:
    """Make and check all calls. Returns a fact; raises `Failed` if a call goes wrong.

    folder: where the cell was compiled. The program that calls the host function is
    built there too, unless it has been already.
    """
    if not (folder / HOST).exists():
        text = program(source.file, exercise.host)
        other = compiler_words.other_function(source, exercise.host)
        compiler.made(source, text, folder, other)
        (folder / "program").rename(folder / HOST)

    def made(call: Call) -> Called:
        where = folder / "where"
        where.unlink(missing_ok=True)
        ran = programs.run(folder / HOST, call.packed)
        rank = struct.unpack("=2I", where.read_bytes()) if where.exists() else (0, 0)
        return Called(exercise, source, call, ran, rank)

    count = 0
    for call in calls(exercise, cases):
        made(call).judge()
        count += call.case is None
    if exercise.full is not None:
        judge_full_size(exercise, made)
    return (
        "the launch is on the current stream and GPU, and its error is asked for; "
        f"{count} kinds of wrong inputs are refused"
    )


def judge_full_size(exercise: CudaCppExercise, made: Callable[[Call], Called]) -> None:
    """Judge the launch at the exercise's `full` size. Raises `Failed` if it is wrong.

    Its threads run only if they are fewer than the elements, because each thread may
    then compute several. made: a function that makes a call.
    """
    case = exercise.case(exercise.full)
    devices = (0,) * len(case.inputs)
    called = made(Call(case.label, case.inputs, devices, case, dry=True))
    called.judge()
    threads = sum(launch.threads for launch in called.launches)
    if threads < called.wanted.size:
        made(replace(called.call, dry=False)).judge()
