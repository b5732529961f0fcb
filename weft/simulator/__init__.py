"""Runs a Numba kernel's Python function on the CPU, one generator per CUDA thread.

`simulate` launches a kernel whatever machine this is, `record` also writes down its
accesses; `install` makes ordinary `kernel[grid, block](...)` launches do the same where
Numba runs its own simulator.
"""

from weft.places import Place
from weft.simulator.faults import Fault, LaunchError
from weft.simulator.launch import Launch, calls, record, simulate

__all__ = ["Fault", "Launch", "LaunchError", "Place", "calls", "record", "simulate"]
