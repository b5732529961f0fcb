"""Opaque objects of a library, identified by address: handles, descriptors, layouts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from weft.libraries.faults import Fault, cut_off
from weft.places import Note

FIRST = 0x5581_4000_0000


@dataclass(eq=False)
class Opaque:
    """One object: its kind, its state and the place where it was made."""

    address: int
    what: str
    state: Any
    places: tuple[Note, ...] = ()
    alive: bool = True
    given: bool = False  # by the check, so that the learner need not destroy it
    ended: tuple[Note, ...] = field(default=())


class Objects:
    """All objects that a model has made."""

    def __init__(
        self,
        refuse: Callable[[Fault], None],
        here: Callable[[], tuple[Note, ...]],
    ) -> None:
        self.made: dict[int, Opaque] = {}
        self.refuse, self.here = refuse, here

    def create(self, what: str, state: Any, places: tuple[Note, ...]) -> int:
        address = FIRST + 0x1000 * (len(self.made) + 1)
        self.made[address] = Opaque(address, what, state, places)
        return address

    def get(self, address: int, what: str, parameter: str) -> Any:
        """Return the state of an object, or None for a null address.

        Refuses an address without an object, a destroyed object, and an object of
        another kind.
        """
        if address == 0:
            return None
        found = self.made.get(address)
        if found is None:
            self.refuse(self._unknown(address, what, parameter))
        elif found.what != what:
            self.refuse(
                Fault(
                    "handle",
                    f"{parameter} is a {found.what}, where a {what} is wanted.",
                    "In C both are addresses, and nothing compares what is there. The "
                    "library would read one as the other.",
                    headline=f"a {found.what} in place of a {what}",
                )
            )
        elif not found.alive:
            self.refuse(
                Fault(
                    "handle",
                    f"This {what} has been destroyed before."
                    if parameter == what
                    else f"{parameter} is a {what} that has been destroyed.",
                    "Its memory has been freed. The library may crash, or find another "
                    "object there.",
                    tuple(
                        (place, note)
                        for places, note in (
                            (self.here(), "used here"),
                            (found.ended, "destroyed here"),
                        )
                        for place, _ in places
                    ),
                    headline=f"a {what} used after its end",
                )
            )
        return found.state if found else None

    def _unknown(self, address: int, what: str, parameter: str) -> Fault:
        whole = [a for a in self.made if a % (1 << 32) == address % (1 << 32)]
        if whole and address != whole[0]:
            return cut_off(parameter, address, f"the {what}", whole[0])
        return Fault(
            "handle",
            f"{parameter} is {address:#x}, and there is no {what} at this address.",
            "A handle is what the library's own create function has returned.",
        )

    def destroy(self, address: int, what: str, places: tuple[Note, ...]) -> bool:
        """Destroy an object and return True; return False for a null address."""
        if self.get(address, what, what) is None:
            return False
        found = self.made[address]
        if found.given:
            self.refuse(
                Fault(
                    "handle",
                    f"The {what} that came as an argument is destroyed.",
                    "It belongs to the caller, who still needs it.",
                    places,
                    headline=f"a {what} that belongs to the caller is destroyed",
                )
            )
        found.alive, found.ended = False, places
        return True

    def left(self) -> list[Opaque]:
        """Return the objects that the learner's code made and did not destroy."""
        return [x for x in self.made.values() if x.alive and not x.given]
