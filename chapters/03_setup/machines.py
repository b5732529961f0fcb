"""The two machines of exercise 6. A page of the book has them, too: no NumPy here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """Two rates: a copy's, in bytes/s, and float32 arithmetic's, in FLOP/s."""

    name: str
    copy: float
    fp32: float

    def __repr__(self):
        return self.name


T4, H200 = Machine("T4", 2.4e11, 7.0e12), Machine("H200", 4.2e12, 5.1e13)
