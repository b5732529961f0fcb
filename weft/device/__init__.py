"""This machine: its GPU, what it lacks, and how fast it is.

`find` is fast. The slower functions, `doctor` and `ceilings`, are imported when they
are called.
"""

from typing import TYPE_CHECKING

from weft.device.gpu import Device, ask_driver, driver_version, find, load_driver

if TYPE_CHECKING:
    from weft.device.rates import Ceilings
    from weft.device.report import Report

__all__ = [
    "Device",
    "ask_driver",
    "ceilings",
    "doctor",
    "driver_version",
    "find",
    "load_driver",
]


def doctor(measure: bool = True) -> "Report":
    """Return a report on this machine: what is there, what is missing, what to do.

    measure: whether to time copies and arithmetic too (under 3 s). Anything the
    machine lacks is reported, and raises no error.
    """
    from weft.device.report import examine

    return examine(measure)


def ceilings(again: bool = False) -> "Ceilings":
    """Return the measured limits of this machine, which bound every kernel on it.

    They are measured once for each GPU and driver and kept in the store, in the file
    `ceilings.json`. again: whether to measure anew. Bytes/s count both reading and
    writing, and flop/s count a multiply-add as 2.
    """
    from weft.device import rates

    return rates.of_this_machine(again)
