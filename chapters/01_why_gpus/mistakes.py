"""What may have led to a wrong number, where an exercise asks for a formula.

A function for each exercise, with its name: the arguments of the learner's function and
what that returned → why this is wrong, "" if nobody knows. For `check(..., because=)`.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

Times = np.ndarray[Any, Any]


def near(answer: Any, known: float) -> bool:
    return math.isclose(answer, known, rel_tol=1e-3)


def reason(answer: Any, known: Iterable[tuple[float, str]]) -> str:
    """Return the reason that belongs to a known wrong answer, "" for others."""
    return next((why for wrong, why in known if near(answer, wrong)), "")


def crossover(
    sizes: Times, cpu: Times, send: Times, kernel: Times, fetch: Times, answer: Any
) -> str:
    """01: the size from which on a GPU is faster, its copies included."""

    def first_win(gpu: Times) -> float:
        return float(min(sizes[gpu < cpu], default=math.inf))

    def last_loss(gpu: Times) -> float:
        return float(max(sizes[gpu >= cpu], default=0))

    gpu = send + kernel + fetch
    lost = last_loss(gpu)
    place = int(np.count_nonzero(sizes <= lost))
    never = lost == sizes[-1]
    return reason(
        answer,
        [
            (first_win(gpu), "The GPU is ahead at this size, but not at a later one."),
            (place, "That is an index into the table. Which size is at that index?"),
            (0, "The smallest size is the first in the table."),
            (
                first_win(kernel),
                "At this size, the kernel alone is faster. Add the copies.",
            ),
            (first_win(send + kernel), "The results have to be copied back, too."),
            (
                first_win(kernel + fetch),
                "The numbers have to be copied to the GPU first.",
            ),
            (
                lost,
                "The CPU is ahead at the largest size, too. So the GPU is never ahead "
                "for good."
                if never
                else "That is the last size at which the CPU is ahead. What is next?",
            ),
            (math.inf, "From some size on, the GPU is ahead to the end of the table."),
            (
                sizes[1] if lost == 0 else math.nan,
                "The GPU is ahead at the first size as well: look at the whole table.",
            ),
            (sizes[-1], "Is there no smaller size from which on the GPU is ahead?"),
        ],
    )


def amdahl(serial: float, workers: int, answer: Any) -> str:
    """01: the speed-up of a program of which a part cannot be shared."""
    shared = 1 - serial
    return reason(
        answer,
        [
            (workers, "That would be right if all of the work could be shared."),
            (
                serial + shared / workers,
                "That is the new time. How many times as fast is the program?",
            ),
            (
                serial + shared * workers,
                "That adds up speed-ups, and speed-ups do not add up: the slow part "
                "takes longer. Add up the times of both parts; then divide.",
            ),
            (shared * workers, "The serial part still takes as long as before."),
            (workers / shared, "The serial part still takes as long as before."),
            (
                1 / serial,
                "That is the limit for infinitely many workers. Here it is less.",
            ),
            (
                1 / serial + shared / workers,
                "Divide 1 by the whole sum: put it in brackets.",
            ),
            (
                1 / (serial + 1 - serial / workers),
                "Divide all of `1 - serial` by `workers`: put it in brackets.",
            ),
            (
                1 // (serial + shared / workers),
                "`//` drops the digits after the point.",
            ),
            (
                1 / (serial + 1 / workers),
                "Only the rest of the hour is shared, not the whole hour.",
            ),
            (
                1 / (shared + serial / workers),
                "It is the other way around: `serial` is the part that is not shared.",
            ),
            (
                1 / (serial / 100 + (1 - serial / 100) / workers),
                "`serial` is a fraction: 0.05 are five per cent.",
            ),
        ],
    )


def gustafson(serial: float, workers: int, answer: Any) -> str:
    """01: how much more is done in the same time, if the problem grows."""
    shared = 1 - serial
    return reason(
        answer,
        [
            (
                1 / (serial + shared / workers),
                "That is Amdahl's law, where `serial` is a part of the hour that one "
                "worker takes. Here it is a part of the hour that all of them take.",
            ),
            (workers, "For a part of the hour, all workers but one are idle."),
            (shared * workers, "Add what one worker did while the others were idle."),
            (
                shared + serial * workers,
                "It is the other way around: for `serial` of the hour, only one works.",
            ),
            (serial * workers, "For `serial` of the hour, only one of them works."),
            (
                1 + shared * workers,
                "One worker works alone for a part of the hour, not for all of it.",
            ),
            (serial + shared / workers, "One worker needs more time, not less."),
            (
                serial + shared * (workers - 1),
                "In the rest of the hour, all of them work, the first included.",
            ),
        ],
    )


def threads_needed(latency: float, bandwidth: float, each: float, answer: Any) -> str:
    """01: how many threads wait at once for a memory that is busy; ns, TB/s, bytes."""
    right = latency * bandwidth * 1000 / each
    if near(answer, right):
        return ""
    quotient = "The longer a load takes, the more bytes are in flight: multiply."
    return reason(
        answer,
        [
            (right / 1000, "ns × TB/s is not bytes: 10⁻⁹ × 10¹² is 1000."),
            (right * 1e9, "The latency is in nanoseconds, 10⁻⁹ s each."),
            (
                right / 1e12,
                "The bandwidth is in terabytes per second, 10¹² bytes each.",
            ),
            (right * 1000, "The latency is in nanoseconds, 10⁻⁹ s each."),
            (
                340 * 4.8 * 1000 / each,
                "That is right for an H200, but not for other memories.",
            ),
            (latency * bandwidth * 1000 / 4, "Not every load has 4 bytes."),
            (
                right * 1.024**4,
                "Rates count in powers of ten: a terabyte is 10¹² bytes.",
            ),
            (right * 1.024, "Rates count in powers of ten: a kilobyte is 1000 bytes."),
            (
                right * each,
                "That is the number of bytes in flight. How many threads is it?",
            ),
            (
                right * each**2,
                "The more bytes each thread waits for, the fewer threads it takes.",
            ),
            (right * 8, "A byte has 8 bits, and all of this is in bytes."),
            (right / 8, "A byte has 8 bits, and all of this is in bytes."),
            (right / 32, "That is the number of warps. How many threads is it?"),
            (right * 2, "Data come back while the next requests are on their way."),
            (bandwidth / latency / each, quotient),
            (bandwidth * 1000 / latency / each, quotient),
            (bandwidth * 1e12 / (latency * 1e-9) / each, quotient),
        ],
    )
