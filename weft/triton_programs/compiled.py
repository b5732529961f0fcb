"""Stage 2: what Triton's compiler makes of the program; it needs no GPU.

The interpreter runs Python, so it is more lenient than the compiler: about types that
change in a loop, small blocks of `tl.dot`, and functions that are not Triton's.
"""

import linecache
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

from weft.checking.verdict import Failed, Verdict
from weft.places import Place
from weft.triton_programs.exercise import ProgramExercise
from weft.triton_programs.interpreted import bound
from weft.triton_programs.launching import Launch, launches
from weft.triton_programs.programs import OPTIONS, Meta
from weft.wording import sentence

CAPABILITIES = (80, 90)  # of Ampere, the oldest that Triton supports, and Hopper


def compile_stage(exercise: ProgramExercise) -> list[str]:
    """Compile for the launch of the last size. Gives facts; raises `Failed`."""
    launch = next(launches(exercise, exercise.case(exercise.sizes[-1])))
    kernel = compilable(exercise.kernel)
    if kernel is None:
        return ["not compiled: TRITON_INTERPRET was set when Triton was imported"]
    facts = []
    for capability in CAPABILITIES:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                binary = compiled(kernel, launch, capability)
        except Exception as error:
            inner = innermost(error)
            if hasattr(inner, "error_message") or hasattr(inner, "node"):
                raise Failed(refused(launch, inner)) from None
            return [f"not compiled: {type(error).__name__}: {first_line(error)}"]
        unit = "wgmma" if "wgmma" in binary.asm["ptx"] else "mma"
        has_unit = f"{unit}." in binary.asm["ptx"]
        facts.append(f"{capability / 10}{f' ({unit})' * has_unit}")
    return [f"compiles for compute capability {' and '.join(facts)}"]


def compilable(program: Any) -> Any:
    """The function that Triton's compiler takes; None where Triton made none."""
    from triton.runtime.jit import JITFunction

    while not isinstance(program, JITFunction) and hasattr(program, "fn"):
        program = program.fn
    return program if isinstance(program, JITFunction) else None


def compiled(kernel: Any, launch: Launch, capability: int) -> Any:
    """Compile a launch for a capability."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.runtime.jit import mangle_type

    constants = launch.exercise.program.constants
    signature = {
        name: "constexpr" if name in constants or value is None else mangle_type(value)
        for name, value in launch.arguments.items()
    }
    values = {n: v for n, v in launch.arguments.items() if signature[n] == "constexpr"}
    source = ASTSource(kernel, signature, constexprs=values)
    options = {k: v for k, v in launch.options.items() if v is not None}
    return triton.compile(source, GPUTarget("cuda", capability, 32), options)


def innermost(error: BaseException) -> BaseException:
    """The error of the function in which it arose, not of those that called it."""
    while error.__cause__ is not None and hasattr(error.__cause__, "node"):
        error = error.__cause__
    return error


def refused(launch: Launch, error: Any) -> Verdict:
    """Word what the compiler refuses."""
    function = launch.exercise.program.function
    lines = (getattr(error, "src", "") or "").splitlines()
    number = getattr(error.node, "lineno", 0)
    places = []
    if 0 < number <= len(lines):
        text = lines[number - 1].strip()
        file = function.__code__.co_filename
        at = beginning(file, lines[0]) + number - 1
        name = lines[0].partition("(")[0].removeprefix("def ").strip()
        places = [(Place(name, at, text, file=file), "")]
    said = str(error.error_message or error.__cause__ or "").strip()
    said = re.sub(r"""^\w+\((["'])(.*)\1\)$""", r"\2", said, flags=re.DOTALL)
    return Verdict(
        launch.name,
        "program",
        "Triton's compiler refuses this line." if places else "Triton refuses it.",
        sentence(" ".join(said.split())[:300]) if said else "",
        places,
        when=launch.when,
    )


def beginning(file: str, first: str) -> int:
    """The line of a file with which a function begins."""
    for number, text in enumerate(linecache.getlines(file), 1):
        if text.strip() == first.strip():
            return number
    return 1


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0][:120]


ALIGNED = 16  # a pointer or an integer that this divides is compiled for as such

_OPCODE = re.compile(r"^\s*(?:@!?%p\d+ )?([a-z][\w.:]*)", re.MULTILINE)


@dataclass(frozen=True)
class MachineCode:
    """A compiled program.

    ptx: its assembly. layouts: Triton's own last form before that, in which each block
    of values has its layout in registers or shared memory (TTGIR). shared: the bytes of
    shared memory that a program needs.
    """

    ptx: str
    layouts: str
    shared: int

    def count(self, *prefixes: str) -> dict[str, int]:
        """How often instructions occur in the text, those that begin so.

        An instruction in a loop counts once.
        """
        found = Counter(_OPCODE.findall(self.ptx))
        return {k: n for k, n in sorted(found.items()) if k.startswith(prefixes)}


def machine_code(
    program: Any, *arguments: Any, capability: tuple[int, int] = (9, 0), **meta: Any
) -> MachineCode:
    """Compile `program[grid](*arguments, **meta)` for a GPU, and do not launch it.

    As at a launch, the compiler is told which pointers and integers are multiples of
    16. Tensors may be anywhere. Raises ValueError where TRITON_INTERPRET was set when
    Triton was imported, TypeError for arguments that do not fit.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = compilable(program)
    if kernel is None:
        raise ValueError("TRITON_INTERPRET is set: Triton has made nothing to compile")
    options = {key: value for key, value in meta.items() if key in OPTIONS}
    named = {key: value for key, value in meta.items() if key not in OPTIONS}
    values = bound(kernel.fn, arguments, named)
    signature, constants, aligned = specialised(kernel, values)
    target = GPUTarget("cuda", 10 * capability[0] + capability[1], 32)
    source = ASTSource(kernel, signature, constants, aligned)
    found = triton.compile(source, target, options)
    return MachineCode(found.asm["ptx"], found.asm["ttgir"], found.metadata.shared)


def specialised(
    kernel: Any, values: Meta
) -> tuple[dict[str, str], dict[str, Any], dict[tuple[int], list[Any]]]:
    """The types of a launch, its constants, and what is known to be aligned."""
    from triton.runtime.jit import mangle_type

    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    aligned: dict[tuple[int], list[Any]] = {}
    for k, (parameter, value) in enumerate(
        zip(kernel.params, values.values(), strict=True)
    ):
        is_one = isinstance(value, int) and value == 1
        if parameter.is_constexpr or value is None or is_one:
            signature[parameter.name] = "constexpr"
            constants[parameter.name] = value
            continue
        signature[parameter.name] = mangle_type(value)
        if is_aligned(value):
            aligned[(k,)] = [["tt.divisibility", ALIGNED]]
    return signature, constants, aligned


def is_aligned(value: Any) -> bool:
    """Whether 16 divides an integer, or the address of a tensor."""
    if hasattr(value, "data_ptr"):
        value = value.data_ptr()
    return isinstance(value, int) and value % ALIGNED == 0
