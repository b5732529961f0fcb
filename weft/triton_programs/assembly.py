"""What Triton's compiler makes of a program, on a machine without a GPU as well."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from weft.triton_programs.compiled import compilable
from weft.triton_programs.interpreted import bound
from weft.triton_programs.programs import OPTIONS, Meta

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
