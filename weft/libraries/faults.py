"""What the model finds wrong beyond what the library itself would report."""

from dataclasses import dataclass

from weft.places import Note


@dataclass(frozen=True)
class Fault:
    """One mistake: its kind of verdict, what happened, why it matters, and where."""

    kind: str
    message: str
    why: str = ""
    places: tuple[Note, ...] = ()
    headline: str = ""


class ModelFault(Exception):
    """A call that would crash, hang or corrupt memory on a GPU."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"{fault.message} {fault.why}".strip())
        self.fault = fault
