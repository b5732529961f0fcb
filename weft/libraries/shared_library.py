"""The model's libraries, each in the form of a `ctypes.CDLL`: real C functions.

Each function is a callback at an address, called through ctypes. So `argtypes`, `byref`
and the conversion of integers are ctypes' own. What C would not notice, such as an
argument that is missing or cut off, is caught here before the call.
"""

import ctypes
from collections.abc import Callable
from types import SimpleNamespace as Arguments
from typing import Any

from weft.libraries.faults import Fault
from weft.libraries.headers import TYPES, Header, Prototype

INT_MAX = (1 << 31) - 1
SORTS: dict[Any, str] = {ctypes.c_float: "a float", ctypes.c_double: "a double"}
Answer = Callable[[Prototype, Arguments], int]


class ModelFunction(ctypes._CFuncPtr):  # type: ignore[name-defined,misc]
    """A C function, called through ctypes, whose arguments are checked."""

    _flags_ = ctypes._FUNCFLAG_CDECL  # type: ignore[attr-defined]
    _restype_ = ctypes.c_int
    prototype: Prototype
    refuse: Callable[[Fault], None]
    raised: list[BaseException]

    def __call__(self, *args: Any) -> Any:
        self.raised.clear()
        for_c = [getattr(a, "_as_parameter_", a) for a in args]
        self._look_at(for_c)
        status = super().__call__(*args)
        if self.raised:
            raise self.raised[0]
        return status

    def _look_at(self, args: list[Any]) -> None:
        """Refuse arguments that are wrong in number or would not reach C intact."""
        wanted, symbol = self.prototype.in_c, self.prototype.symbol
        declared = getattr(self, "argtypes", None)
        for count, what in ((len(args), "gets"), (len(declared or wanted), "declares")):
            if count != len(wanted):
                self.refuse(
                    Fault(
                        "prototype",
                        f"{symbol} has {len(wanted)} parameters, and this call {what} "
                        f"{count}.",
                        "C does not count them. What is missing is taken from whatever "
                        "is in the registers and on the stack.",
                    )
                )
        for number, ((kind, name), value) in enumerate(zip(wanted, args, strict=True)):
            kinds = declared[number] if declared else None
            if reason := mismatch(kind, value, kinds):
                self.refuse(
                    Fault("prototype", f"{symbol}: {name} {reason[0]}", reason[1])
                )


def mismatch(kind: str, value: Any, declared: Any) -> tuple[str, str] | None:
    """Return why C would not get `value` unchanged as a `kind`, or None.

    The result has two parts: what happens to the argument, and an explanation.
    """
    passed, wanted = declared or type(value), TYPES[kind]
    if (passed in SORTS or wanted in SORTS) and passed is not wanted:
        usual = "an address" if kind == "address" else "an integer"
        sort, expects = SORTS.get(passed, "an integer"), SORTS.get(wanted, usual)
        return (
            f"is passed as {sort}; C expects {expects}.",
            "Integers and floating-point numbers travel in different registers, so the "
            "function reads something else in its place. Scalars such as alpha are "
            "passed by address: `byref(c_float(1))`.",
        )
    size = ctypes.sizeof(TYPES[kind])
    short = ctypes.sizeof(declared or ctypes.c_int)
    if isinstance(value, int) and short < size and not -INT_MAX <= value <= INT_MAX:
        how = "declared as 32 bits" if declared else "passed as a C int of 32 bits"
        return (
            f"is {value:#x}, and {how}: the upper half is cut off.",
            (
                f"It is declared as {declared.__name__}. Addresses need c_void_p."
                if declared
                else "Without `argtypes`, ctypes takes a Python integer for a C int. "
                "Addresses need c_void_p."
            ),
        )
    if declared is not None and not converts(declared, value):
        return (
            f"is declared as {declared.__name__}, and gets a {type(value).__name__}.",
            "ctypes does not make the one of the other. A scalar is passed by address: "
            "`byref(x)` of a c_float."
            if kind == "address"
            else "ctypes does not make the one of the other.",
        )
    return None


def converts(declared: Any, value: Any) -> bool:
    """Return whether ctypes accepts `value` for a parameter of the type `declared`."""
    try:
        declared.from_param(value)
    except (TypeError, ctypes.ArgumentError):
        return False
    return True


class ModelLibrary:
    """The functions of one library.

    said: the library's message on the last call. answer: returns the status of a call,
    given a prototype and arguments.
    """

    def __init__(
        self, header: Header, answer: Answer, refuse: Callable[[Fault], None]
    ) -> None:
        self._name, self._answer = f"lib{header.library}.so", answer
        self.said = ""
        for prototype in header.functions.values():
            setattr(self, prototype.symbol, self._function(prototype, refuse))

    def _function(
        self, prototype: Prototype, refuse: Callable[[Fault], None]
    ) -> ModelFunction:
        """Return a prototype's C function; exceptions raised in it reach its caller."""
        raised: list[BaseException] = []

        def call(*args: Any) -> int:
            self.said = ""
            names = [name for _, name in prototype.in_c]
            given = dict(zip(names, [a or 0 for a in args], strict=True))
            try:
                return self._answer(prototype, Arguments(**given))
            except BaseException as error:
                raised.append(error)
                return 0

        callback = ctypes.CFUNCTYPE(ctypes.c_int, *prototype.argtypes)(call)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        function = ModelFunction(address)
        function.prototype, function.refuse, function.raised = prototype, refuse, raised
        function.__dict__["callback"] = callback  # lives as long as the function
        return function

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the model of {self._name} has no {name}")

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)
