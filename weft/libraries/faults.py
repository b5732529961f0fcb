"""Mistakes in a call: those the library reports, and those it would not notice."""

from dataclasses import dataclass

from weft.places import Note


@dataclass(frozen=True)
class Fault:
    """One mistake: the verdict's kind, what happened, why it matters, and where."""

    kind: str
    message: str
    why: str = ""
    places: tuple[Note, ...] = ()
    headline: str = ""


def cut_off(parameter: str, address: int, what: str, whole: int) -> Fault:
    """Return the fault of passing only the lower 32 bits of an address."""
    return Fault(
        "prototype",
        f"{parameter} arrives as {address:#x}, and {what} is at {whole:#x}: the upper "
        "half of the address is missing.",
        "Without `argtypes`, ctypes passes a Python integer as a C int, which has 32 "
        "bits.",
    )


class ModelFault(Exception):
    """A call that would crash or corrupt memory on a GPU, or is not modelled."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"{fault.message} {fault.why}".strip())
        self.fault = fault


class Refusal(Exception):
    """A call that the library refuses: the status it returns, and the reason."""

    def __init__(self, status: int, reason: str = "") -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason
