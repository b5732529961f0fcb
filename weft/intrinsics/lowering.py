"""Lower intrinsics to GPU code: LLVM instructions with inline PTX."""

from collections.abc import Callable
from functools import cache
from typing import Any

from weft import backend

# Given an operation's name, makes the function that Numba's `intrinsic` takes.
Builder = Callable[["Lowering", str], Callable[..., Any]]


def compiled(operation: Any) -> Any:
    """Return the intrinsic of an operation, for kernels that Numba compiles."""
    tools = lowering()
    function = operation.ptx(tools, operation.name)
    function.__name__ = function.__qualname__ = operation.name
    function.__doc__ = operation.twin.__doc__
    return tools.intrinsic(function)


@cache
def lowering() -> "Lowering":
    return Lowering()


class Lowering:
    """The tools of Numba and LLVM, and the code generation that intrinsics share.

    `ir` is llvmlite's, and `types` Numba's. `address` and `word` are integers of 64 and
    32 bits, and `nothing` is LLVM's void.
    """

    def __init__(self) -> None:
        tools = backend.intrinsic_tools()
        self.intrinsic = tools.intrinsic
        self.types, self.ir, self._cgutils = tools.types, tools.ir, tools.cgutils
        self.TypingError = tools.TypingError
        self.address, self.word = self.ir.IntType(64), self.ir.IntType(32)
        self.nothing = self.ir.VoidType()

    def check(
        self,
        call: str,
        x: Any,
        index: Any,
        refused: Callable[[str, Any], str],
        strided: bool = False,
        number: int = 1,
    ) -> None:
        """Raise TypingError with an explanation unless `call` can move `x[index]`.

        refused: says why an array is refused, or "" if it is not. strided: whether the
        elements of `x` need not be contiguous. number: which argument `x` is, from 1.
        """
        types = self.types
        if not isinstance(x, types.Array):
            raise self.TypingError(
                f"{call}: argument {number} must be an array, not {x}"
            )
        wrong = refused(call, x)
        if not wrong and x.layout != "C" and not strided:
            wrong = (
                f"{call} needs a C-contiguous array: four neighbours in memory. "
                "This one is a strided view"
            )
        kinds = tuple(index) if isinstance(index, types.BaseTuple) else (index,)
        if not wrong and (
            len(kinds) != x.ndim or not all(isinstance(k, types.Integer) for k in kinds)
        ):
            wrong = (
                f"{call}: the index must be an integer, or (row, column) for a matrix; "
                f"got {index}"
            )
        if wrong:
            raise self.TypingError(wrong)

    def pointer(self, context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        """Return the address of `x[index]`. kinds: the types of x and index."""
        array, index = kinds[:2]
        parts = [(index, values[1])]
        if isinstance(index, self.types.BaseTuple):
            unpacked = self._cgutils.unpack_tuple(builder, values[1])
            parts = list(zip(index, unpacked, strict=True))
        at = [context.cast(builder, v, kind, self.types.intp) for kind, v in parts]
        struct = context.make_array(array)(context, builder, values[0])
        return self._cgutils.get_item_pointer(
            context, builder, array, struct, at, wraparound=False
        )

    def shared(self, context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        """Return the 32-bit address of `x[index]` within shared memory.

        The address is computed in 32 bits throughout, which is enough there and lets
        the compiler move constants from an index into the instruction.
        """
        array = kinds[0]
        parts = [(kinds[1], values[1])]
        if isinstance(kinds[1], self.types.BaseTuple):
            unpacked = self._cgutils.unpack_tuple(builder, values[1])
            parts = list(zip(kinds[1], unpacked, strict=True))
        struct = context.make_array(array)(context, builder, values[0])
        space = self.ir.PointerType(struct.data.type.pointee, 3)
        at = builder.ptrtoint(builder.addrspacecast(struct.data, space), self.word)
        strides = self._cgutils.unpack_tuple(builder, struct.strides)
        for (kind, value), stride in zip(parts, strides, strict=True):
            number = context.cast(builder, value, kind, self.types.int32)
            step = builder.trunc(stride, self.word)
            at = builder.add(at, builder.mul(number, step))
        return at

    def array(
        self,
        context: Any,
        builder: Any,
        kind: Any,
        data: Any,
        shape: tuple[int, ...],
        itemsize: int,
    ) -> Any:
        """Make a C-contiguous array of Numba's type `kind` at the address `data`."""
        made = context.make_array(kind)(context, builder)
        number = self.ir.IntType(64)
        strides = [itemsize]
        for length in shape[:0:-1]:
            strides.insert(0, strides[0] * length)
        parts = [[number(n) for n in numbers] for numbers in (shape, strides)]
        context.populate_array(
            made,
            data=builder.bitcast(data, made.data.type),
            shape=self._cgutils.pack_array(builder, parts[0]),
            strides=self._cgutils.pack_array(builder, parts[1]),
            itemsize=number(itemsize),
            meminfo=None,
        )
        return made._getvalue()

    def capability(self) -> tuple[int, int] | None:
        """Return the compute capability that is compiled for, or None if unknown."""
        return backend.target_capability()

    def assembly(
        self,
        builder: Any,
        result: Any,
        text: str,
        constraints: str,
        args: Any,
        stays: bool = True,
    ) -> Any:
        """Emit a line of PTX and return its result.

        constraints: those of the line's operands, as in LLVM. stays: whether the
        compiler must neither move nor omit the line.
        """
        signature = self.ir.FunctionType(result, [v.type for v in args])
        line = self.ir.InlineAsm(signature, text, constraints, side_effect=stays)
        return builder.call(line, args)

    def call(
        self,
        made: tuple[Any, Any, Any],
        numbers: list[Any],
        text: str,
        constraints: str,
        args: Any,
        stays: bool = True,
    ) -> Any:
        """Emit a line of PTX and return its result in Numba's form.

        made: the context, the builder, and Numba's type of the result. numbers: the
        types of the line's results, if any. Several results become a tuple.
        """
        context, builder, returns = made
        kind = self.nothing
        if numbers:
            kind = numbers[0]
        if numbers[1:]:
            kind = self.ir.LiteralStructType(numbers)
        got = self.assembly(builder, kind, text, constraints, args, stays)
        if not numbers:
            return context.get_dummy_value()
        if not numbers[1:]:
            return got
        parts = [builder.extract_value(got, k) for k in range(len(numbers))]
        return context.make_tuple(builder, returns, parts)

    def letters(self, kind: Any) -> tuple[Any, str, str]:
        """Return a number type's LLVM type, letter in assembly, and name in PTX."""
        if isinstance(kind, self.types.Float):
            wide = kind.bitwidth == 64
            return (
                self.ir.DoubleType() if wide else self.ir.FloatType(),
                "d" if wide else "f",
                f"f{kind.bitwidth}",
            )
        letter = "l" if kind.bitwidth == 64 else "r"
        return self.ir.IntType(kind.bitwidth), letter, f"u{kind.bitwidth}"


def computes(
    text: str, result: str, constraints: str, *takes: str, stays: bool = False
) -> Builder:
    """Return a builder for a function that maps numbers to numbers in one piece of PTX.

    result: the name of the result's Numba type, repeated if there are several results.
    takes: the names of the Numba types of the one or two arguments. constraints, stays:
    see `Lowering.assembly`.
    """

    def build(gpu: Lowering, call: str) -> Callable[..., Any]:
        kind, *more = (getattr(gpu.types, name) for name in result.split())
        gives = gpu.types.UniTuple(kind, 1 + len(more)) if more else kind
        signature = gives(*(getattr(gpu.types, name) for name in takes))
        numbers = [gpu.letters(kind)[0]] * (1 + len(more))

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            made = context, builder, signature.return_type
            return gpu.call(made, numbers, text, constraints, args, stays)

        def of_one(typingctx: Any, a: Any) -> Any:
            return signature, codegen

        def of_two(typingctx: Any, a: Any, b: Any) -> Any:
            return signature, codegen

        return of_one if len(takes) == 1 else of_two

    return build
