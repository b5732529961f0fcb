"""Single PTX instructions whose operands are addresses and numbers."""

import inspect
from collections.abc import Callable
from enum import Enum
from typing import Any

from weft.intrinsics.lowering import Builder, Lowering

Refused = Callable[[str, Any], str]


class Operand(Enum):
    """The kinds of operands of an instruction.

    SHARED: two arguments, an array in shared memory and an index, which become a 32-bit
    address. GLOBAL: the same for global memory, with a 64-bit address. MAP: an array,
    passed as the 64-bit address of its first byte. NUMBER: a 32-bit integer. LONG: a
    64-bit integer. FLOAT: a number, as a float32. LITERAL: a number that is known when
    the kernel is compiled, written into the instruction instead of `{0}`, `{1}`, ….
    """

    SHARED = "shared"
    GLOBAL = "global"
    MAP = "map"
    NUMBER = "number"
    LONG = "long"
    FLOAT = "float"
    LITERAL = "literal"


HOPPER = (9, 0)  # the capability that most of these require
ANY = (0, 0)  # compiles for every GPU, even one on which it would not run
SHARED, GLOBAL, MAP = Operand.SHARED, Operand.GLOBAL, Operand.MAP
NUMBER, LONG, LITERAL = Operand.NUMBER, Operand.LONG, Operand.LITERAL
FLOAT = Operand.FLOAT

_TWO = SHARED, GLOBAL
_LETTER = {SHARED: "r", NUMBER: "r", GLOBAL: "l", MAP: "l", LONG: "l", FLOAT: "f"}


def instruction(
    text: str,
    operands: str = "",
    gives: str = "",
    *,
    stays: bool = True,
    needs: tuple[int, int] = HOPPER,
    refused: Refused = lambda *_: "",
) -> Builder:
    """Return a builder for an intrinsic that consists of one piece of PTX.

    text: the PTX, in which `$0` is the result if there is one; the operands that are
    not literals follow in order. operands: the kinds of the operands, such as "SHARED
    NUMBER". gives: Numba's types of the results, which are all the same, or "" for
    none. stays: whether the compiler must neither move the instruction, nor move
    accesses across it, nor omit it. refused: says why an array is refused.
    """

    kinds_of = tuple(Operand[name] for name in operands.split())

    def build(gpu: Lowering, call: str) -> Callable[..., Any]:
        """Return the function that Numba's `intrinsic` takes."""
        count = sum(2 if one in _TWO else 1 for one in kinds_of)
        names = ["typingctx", *(f"a{k}" for k in range(count))]

        def typed(typingctx: Any, *kinds: Any) -> Any:
            """Return the signature, and the function that generates the code."""
            capability = gpu.capability()
            if capability and capability < needs:
                least = ".".join(map(str, needs))
                raise gpu.TypingError(
                    f"{call} needs compute capability {least} or higher"
                )
            _check(gpu, call, kinds_of, kinds, refused)
            results = [getattr(gpu.types, name) for name in gives.split()]
            result = gpu.types.void
            if results:
                several = gpu.types.UniTuple(results[0], len(results))
                result = several if results[1:] else results[0]

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                """Convert the arguments to operands, and emit the instruction."""
                given = list(zip(signature.args, args, strict=True))
                values, letters, constants = [], [], []
                for operand in kinds_of:
                    taken = [given.pop(0) for _ in range(2 if operand in _TWO else 1)]
                    if operand is LITERAL:
                        constants.append(taken[0][0].literal_value)
                        continue
                    values.append(_value(gpu, context, builder, operand, taken))
                    letters.append(_LETTER[operand])
                found = [gpu.letters(one) for one in results]
                marks = [f"={code}" for _, code, _ in found] + letters
                marks += ["~{memory}"] if stays else []
                numbers = [number for number, _, _ in found]
                line = text
                for k, constant in enumerate(constants):
                    line = line.replace(f"{{{k}}}", str(constant))
                made = context, builder, signature.return_type
                return gpu.call(made, numbers, line, ",".join(marks), values, stays)

            return result(*kinds), codegen

        typed.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names]
        )
        return typed

    return build


def _value(
    gpu: Lowering, context: Any, builder: Any, operand: Operand, taken: Any
) -> Any:
    """Return an operand in the form that the instruction takes."""
    kinds, values = zip(*taken, strict=True)
    if operand is SHARED:
        return gpu.shared(context, builder, kinds, values)
    if operand is GLOBAL:
        return builder.ptrtoint(
            gpu.pointer(context, builder, kinds, values), gpu.address
        )
    if operand is MAP:
        struct = context.make_array(kinds[0])(context, builder, values[0])
        return builder.ptrtoint(struct.data, gpu.address)
    to = {LONG: gpu.types.int64, FLOAT: gpu.types.float32}.get(operand, gpu.types.int32)
    return context.cast(builder, values[0], kinds[0], to)


def _check(
    gpu: Lowering,
    call: str,
    operands: tuple[Operand, ...],
    kinds: tuple[Any, ...],
    refused: Refused,
) -> None:
    """Raise TypingError unless the types of the arguments fit the operands."""
    types, left = gpu.types, list(kinds)
    for operand in operands:
        kind = left.pop(0)
        if operand in _TWO:
            number = len(kinds) - len(left)
            gpu.check(call, kind, left.pop(0), refused, number=number)
        elif operand is MAP and not isinstance(kind, types.Array):
            raise gpu.TypingError(
                f"{call}: the tensor map must be an array, not {kind}"
            )
        elif operand is LITERAL and not isinstance(kind, types.IntegerLiteral):
            raise gpu.TypingError(
                f"{call}: write a number, or the name of a constant; got {kind}"
            )
        elif operand in (NUMBER, LONG) and not isinstance(
            kind, types.Integer | types.Boolean
        ):
            raise gpu.TypingError(f"{call}: an integer must be here, not {kind}")
        elif operand is FLOAT and not isinstance(
            kind, types.Integer | types.Boolean | types.Float
        ):
            raise gpu.TypingError(f"{call}: a number must be here, not {kind}")
