"""Compute how many blocks of a kernel fit on an SM, and what limits the number.

The figure `occupancy` does the same in JavaScript. Tests compare both with NVIDIA's
own rules, and with what the driver of an H200 reports for kernels that it has compiled
(`verification.resident`).

Source: CUDA Programming Guide, "Compute Capabilities", technical specifications per
compute capability; for allocation units, `cuda_occupancy.h` of the CUDA Toolkit 13.0.
"""

from dataclasses import dataclass

WARP = 32
REGISTERS = 64 * 1024  # registers of 32 bits per SM; a block may have them all
MOST_REGISTERS = 255  # per thread
MOST_THREADS = 1024  # per block
PARTITIONS = 4  # of an SM, each with a quarter of the registers
_REGISTER_PIECE = 256  # unit in which registers are allocated to a warp


@dataclass(frozen=True)
class Limits:
    """The resources of an SM of one compute capability. Shared memory is in bytes."""

    blocks: int
    warps: int
    shared: int
    shared_of_block: int
    shared_piece: int
    shared_reserved: int


def _limits(blocks: int, warps: int, shared: int, old: bool = False) -> Limits:
    """Return the limits of an SM with `shared` KiB of shared memory.

    old: whether the compute capability is below 8.0. From 8.0 on, the driver reserves
    1 KiB of shared memory per block.
    """
    reserved = 0 if old else 1024
    piece = 256 if old else 128
    total = shared * 1024
    return Limits(blocks, warps, total, total - reserved, piece, reserved)


LIMITS = {
    (7, 5): _limits(16, 32, 64, old=True),
    (8, 0): _limits(32, 64, 164),
    (8, 6): _limits(16, 48, 100),
    (8, 7): _limits(16, 48, 164),
    (8, 9): _limits(24, 48, 100),
    (9, 0): _limits(32, 64, 228),
    (10, 0): _limits(32, 64, 228),
    (10, 3): _limits(32, 64, 228),
    (12, 0): _limits(24, 48, 100),
}


@dataclass(frozen=True)
class Occupancy:
    """Resident blocks and warps of an SM, and what limits them.

    share: the warps, as a fraction of those that the SM can hold. allowed: how many
    blocks each resource would allow. limited_by: the resources that allow the fewest.
    """

    blocks: int
    warps: int
    share: float
    allowed: dict[str, int]
    limited_by: tuple[str, ...]


def occupancy(
    capability: tuple[int, int], threads: int, registers: int, shared: int = 0
) -> Occupancy:
    """Return how many of a kernel's blocks an SM holds at once, and what limits them.

    threads: per block; registers: per thread; shared: bytes per block, static and
    dynamic. Raises ValueError for a capability that is not in LIMITS.
    """
    if capability not in LIMITS:
        known = ", ".join(f"{major}.{minor}" for major, minor in LIMITS)
        major, minor = capability
        raise ValueError(f"no limits known for capability {major}.{minor}; {known} are")
    limits = LIMITS[capability]
    warps = max(-(-threads // WARP), 1)  # the limits are per warp, so at least 1
    allowed = {
        "warps": limits.warps // warps if 0 < threads <= MOST_THREADS else 0,
        "registers": _by_registers(warps, registers),
        "shared memory": _by_shared(limits, shared),
        "blocks": limits.blocks,
    }
    blocks = min(allowed.values())
    return Occupancy(
        blocks,
        blocks * warps,
        blocks * warps / limits.warps,
        allowed,
        tuple(name for name, count in allowed.items() if count == blocks),
    )


def _by_registers(warps: int, registers: int) -> int:
    """Return how many blocks of `warps` warps the register file holds.

    A warp's registers come from the quarter of the SM that it runs on.
    """
    if registers > MOST_REGISTERS:
        return 0
    of_warp = _up(max(registers, 1) * WARP, _REGISTER_PIECE)
    if of_warp * _up(warps, PARTITIONS) > REGISTERS:
        return 0
    return REGISTERS // PARTITIONS // of_warp * PARTITIONS // warps


def _by_shared(limits: Limits, shared: int) -> int:
    if shared > limits.shared_of_block:
        return 0
    of_block = _up(shared + limits.shared_reserved, limits.shared_piece)
    return limits.shared // of_block if of_block else limits.blocks


def _up(value: int, piece: int) -> int:
    return -(-value // piece) * piece
