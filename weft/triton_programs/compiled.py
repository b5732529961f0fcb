"""Stage 2: what Triton's compiler makes of the program; it needs no GPU.

The interpreter runs Python, so it is more lenient than the compiler about types that
change in a loop, small blocks in `tl.dot`, and functions that are not Triton's.
"""

import ast
import linecache
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from weft.checking.source import line_with, tree_of
from weft.checking.verdict import Failed, Verdict
from weft.places import Note, Place
from weft.programs.exercise import ProgramExercise
from weft.programs.launching import Launch, bound, launches
from weft.programs.program import Meta
from weft.triton_programs.programs import OPTIONS
from weft.triton_programs.wording import words
from weft.wording import sentence

# errors that a missing or broken compiler raises
NOT_THE_PROGRAM = (ImportError, MemoryError, OSError)
# capabilities of Ampere, the oldest that Triton supports, and of Hopper
CAPABILITIES = (80, 90)


def compile_stage(exercise: ProgramExercise) -> list[str]:
    """Compile the program for the last size.

    Returns facts; raises `Failed` if the compiler refuses the program.
    """
    launch = next(launches(exercise, exercise.case(exercise.sizes[-1])))
    kernel = compilable(exercise.kernel)
    if kernel is None:
        return ["not compiled: TRITON_INTERPRET was set when Triton was imported"]
    facts = []
    for capability in CAPABILITIES:
        try:
            binary = compiled(kernel, launch, capability)
        except NOT_THE_PROGRAM as error:
            return [f"not compiled: {type(error).__name__}: {first_line(error)}"]
        except Exception as error:
            raise Failed(refused(launch, innermost(error))) from None
        unit = "wgmma" if "wgmma" in binary.asm["ptx"] else "mma"
        has_unit = f"{unit}." in binary.asm["ptx"]
        facts.append(f"{capability / 10}{f' ({unit})' * has_unit}")
    return [f"compiles for compute capability {' and '.join(facts)}"]


def refusal(launch: Launch) -> Verdict | None:
    """Return the verdict on a program that Triton's compiler refuses, or None."""
    kernel = compilable(launch.exercise.kernel)
    try:
        if kernel is not None:
            compiled(kernel, launch, CAPABILITIES[-1])
    except NOT_THE_PROGRAM:
        return None
    except Exception as error:
        return refused(launch, innermost(error))
    return None


def compilable(program: Any) -> Any:
    """Return the function that Triton's compiler takes, or None if there is none."""
    from triton.runtime.jit import JITFunction

    while not isinstance(program, JITFunction) and hasattr(program, "fn"):
        program = program.fn
    return program if isinstance(program, JITFunction) else None


def compiled(kernel: Any, launch: Launch, capability: int) -> Any:
    """Compile a launch's program for a compute capability, such as 90."""
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return triton.compile(source, GPUTarget("cuda", capability, 32), options)


def innermost(error: BaseException) -> BaseException:
    """Return the compiler's error in the innermost function that it was compiling."""
    while error.__cause__ is not None and hasattr(error.__cause__, "node"):
        error = error.__cause__
    return error


def refused(launch: Launch, error: Any) -> Verdict:
    """Return the verdict on a compiler error, with the line that it is about."""
    function = launch.exercise.program.function
    places = place_of(function, error)
    text = "" if places else error  # the text repeats the function up to the line
    said = str(getattr(error, "error_message", None) or error.__cause__ or text)
    said = re.sub(r"""^\w+\((["'])(.*)\1\)$""", r"\2", said.strip(), flags=re.DOTALL)
    if found := re.search(words.rows["plain-function"]["pattern"], said):
        places = line_with(function, rf".*\b{re.escape(found[1].rstrip('.'))}\(")
        called = found[1].rstrip(".")
        return launch.verdict("plain-function", places, function=called)
    if fits := words.matching(said):
        return launch.verdict(fits[0], places, kind="program", shapes="")
    lost = re.match(r"(\w+) is not defined", said)
    if lost and places and set_in_a_loop(function, lost[1]):
        return launch.verdict("left-its-loop", places, lost=lost[1])
    said = re.sub(r"^(\w+) is not defined", r"`\1` is not defined", said)
    said = sentence(" ".join(said.split())[:300]) if said else ""
    message = "Triton's compiler refuses this line." if places else "Triton refuses it."
    return Verdict(launch.name, "program", message, said, places, when=launch.when)


def set_in_a_loop(function: FunctionType, name: str) -> bool:
    """Return whether a loop of the function assigns to a name."""
    tree = tree_of(function)
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
    inner = [node for loop in loops for node in ast.walk(loop)]
    names = [node for node in inner if isinstance(node, ast.Name)]
    return any(n.id == name and isinstance(n.ctx, ast.Store) for n in names)


def place_of(function: FunctionType, error: Any) -> list[Note]:
    """Return the line at which the compiler stopped, or [] if it does not say."""
    lines = (getattr(error, "src", "") or "").splitlines()
    number = getattr(getattr(error, "node", None), "lineno", 0)
    if not 0 < number <= len(lines):
        return []
    file = function.__code__.co_filename
    at = beginning(file, lines[0]) + number - 1
    name = lines[0].partition("(")[0].removeprefix("def ").strip()
    return [(Place(name, at, lines[number - 1].strip(), file=file), "")]


def beginning(file: str, first: str) -> int:
    """Return the number of the first line in `file` that reads `first`, or else 1."""
    for number, text in enumerate(linecache.getlines(file), 1):
        if text.strip() == first.strip():
            return number
    return 1


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0][:120]


ALIGNED = 16  # Triton compiles special code for pointers and integers divisible by it

_OPCODE = re.compile(r"^\s*(?:@!?%p\d+ )?([a-z][\w.:]*)", re.MULTILINE)


@dataclass(frozen=True)
class MachineCode:
    """A compiled program.

    ptx: its assembly. layouts: TTGIR, an earlier form, in which each block has its
    layout in registers or shared memory. shared: how many bytes of shared memory the
    program needs.
    """

    ptx: str
    layouts: str
    shared: int

    def count(self, *prefixes: str) -> dict[str, int]:
        """Count the PTX instructions of each opcode that begins with one of `prefixes`.

        An instruction in a loop counts once.
        """
        found = Counter(_OPCODE.findall(self.ptx))
        return {k: n for k, n in sorted(found.items()) if k.startswith(prefixes)}


def machine_code(
    program: Any, *arguments: Any, capability: tuple[int, int] = (9, 0), **meta: Any
) -> MachineCode:
    """Compile `program[grid](*arguments, **meta)` for a GPU, without launching it.

    As in a launch, the compiler is told which pointers and integers are multiples of
    16. Tensors may be on any device. Raises ValueError if TRITON_INTERPRET was set when
    Triton was imported, and TypeError for arguments that do not fit.
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
    """Return, for a launch's arguments, the types, the constants and the alignments."""
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
    """Return whether an integer, or the address of a tensor, is divisible by 16."""
    if hasattr(value, "data_ptr"):
        value = value.data_ptr()
    return isinstance(value, int) and value % ALIGNED == 0
