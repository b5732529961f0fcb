"""Inputs, and likely causes of wrong answers, for the checks of lab 38."""

import math

from . import formats
from .formats import BIAS, E2M1, E2M1_MOST, E4M3_MOST, Scaled


def short(x):
    """Return a number with two significant digits, which a verdict can show."""
    return float(f"{float(x):.2g}")


def numbers(rng):
    """Return numbers to round, among them every tie of e2m1."""
    ties = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
    cases = [1.0, 1.2, 2.4, 4.9, -2.2, 5.1, 0.1, 0.0, 6.0, 7.5, 100.0, -30.0]
    cases += [*ties, *(-tie for tie in ties)]
    cases += [short(3 * rng.normal()) for _ in range(20)]
    return [(x,) for x in cases]


def why_not_this_code(x, got):
    """Say what is wrong with a code of e2m1."""
    if type(got) is not int or not 0 <= got < 16:
        return "A code is an integer from 0 to 15."
    right = formats.e2m1(x)
    if got == right ^ 8:
        return "Bit 3 of the code, which is worth 8, is the sign: 1 if x is negative."
    if abs(x) > E2M1_MOST:
        return f"{x:g} is beyond the largest number, so it becomes {E2M1[right]:g}."
    near = sorted((abs(abs(x) - E2M1[code]), code) for code in range(8))
    (one, first), (other, second) = near[:2]
    if one == other:
        low, high = sorted((first, second))
        return (
            f"{abs(x):g} is halfway between {E2M1[low]:g}, code {low}, and "
            f"{E2M1[high]:g}, code {high}. Of two that are equally near, take the even "
            "code."
        )
    return f"Code {right} is {E2M1[right]:g}, which is nearer than {E2M1[got]:g}."


def mx_blocks(rng):
    """Return blocks of 32 numbers, of many magnitudes."""

    def block(largest, spread=0.9):
        found = [short(spread * largest * rng.uniform(-1, 1)) for _ in range(32)]
        found[int(rng.integers(32))] = largest
        return tuple(found)

    cases = [block(1.0), block(-0.75), block(300.0), block(448.0), block(-500.0)]
    cases += [block(511.0), block(512.0), block(3.0), block(3e38), block(1e-39)]
    cases += [(0.0,) * 32, block(-2.0, 0.01), block(6e-5)]
    for _ in range(10):
        sign = float(rng.choice([-1, 1]))
        cases.append(block(sign * short(2 ** rng.uniform(-20, 20))))
    return [(case,) for case in cases]


def why_not_this_byte(block, got):
    """Say what is wrong with the byte of a block's scale."""
    if type(got) is not int:
        return "A byte is an integer: of a scale 2^e, it is e + 127."
    most, right = max(map(abs, block)), formats.mx_scale(block)
    if most == 0:
        return "A block of zeros has byte 0."
    if got == right - BIAS:
        return "That is the exponent. The byte is the exponent plus 127."
    if not 0 <= got < 256:
        return f"{got} is not a byte: the smallest is 0, for 2^-127."
    why = f"The largest magnitude is {most:.6g}; "
    largest = math.frexp(most)[1] - 1
    if right == 0:
        return f"{why}its scale would be below 2^-127, and the smallest byte is 0."
    if got == right + formats.E4M3_EXPONENT:
        return (
            f"{why}its power of two is 2^{largest}. This byte takes that as the scale. "
            "Divide it by the largest power of two in e4m3, which is 256."
        )
    return (
        f"{why}the largest power of two that is not above it is 2^{largest}, "
        f"and e4m3 has 2^8. The scale is the quotient of the two."
    )


def tensors(rng):
    """Return vectors of whole blocks of 16, some of which are much smaller."""

    def vector(count, size, spread):
        """Return blocks whose sizes differ by up to 2 ** spread."""
        while True:
            found = [
                short(scale * rng.normal())
                for scale in size * 2 ** rng.uniform(-spread, 0, count)
                for _ in range(16)
            ]
            if not any(map(is_tie, scales_before_rounding(found))):
                return found

    flat = [k / 8 for k in range(-8, 8)]
    largest_last = [-3 * x for x in reversed(flat)]
    cases = [flat, [*flat, *largest_last], [*flat, *[0.0] * 16]]
    cases += [vector(3, 1, 6), vector(4, 1000, 3), vector(3, 5, 2)]
    cases += [[*flat, *(1e-6 * x for x in flat)], [-abs(x) for x in vector(2, 1, 1)]]
    cases += [vector(int(rng.integers(2, 6)), 2.0 ** rng.integers(-9, 9), 8)]
    return [(tuple(case),) for case in cases]


def scales_before_rounding(values):
    """Return what NVFP4 rounds to e4m3, for every block."""
    most = [max(map(abs, block)) for block in formats.blocks(values, 16)]
    return [E4M3_MOST * one / max(most) for one in most]


def is_tie(x):
    """Return whether a tiny error decides to which number of e4m3 x is rounded."""
    return formats.e4m3(x * (1 - 1e-5)) != formats.e4m3(x * (1 + 1e-5))


def same_scales(got, wanted):
    """Return "" for the right scales, or else what is wrong with them."""
    try:
        tensor, scales = got
        tensor, scales = float(tensor), [float(scale) for scale in scales]
    except (TypeError, ValueError):
        return "Return a number, and a tuple with one number for each block of 16."
    right, of_blocks = wanted
    if abs(tensor - right) > 1e-6 * right:
        return (
            f"With {tensor:.6g} for the tensor, the largest scale of a block is "
            f"{right / tensor * E4M3_MOST:.6g}; it should be 448."
        )
    if len(scales) != len(of_blocks):
        return f"There are {len(of_blocks)} blocks of 16, and {len(scales)} scales."
    for block, (mine, scale) in enumerate(zip(scales, of_blocks, strict=True)):
        if mine == scale:
            continue
        if mine != formats.e4m3(mine):
            return f"The scale of block {block} is {mine!r}, which e4m3 does not have."
        why = f"The scale of block {block} is {mine:g}; it should be {scale:g}."
        if abs(mine - scale * right) < scale * right / 8:
            why += " The scale of the tensor is a separate factor: divide by it."
        return why
    return ""


def pairs(rng):
    """Return two vectors each, in blocks of 16 and of 32."""

    def vector(count, block):
        codes = tuple(int(code) for code in rng.integers(16, size=count * block))
        if block == 32:
            scales = tuple(2.0 ** int(e) for e in rng.integers(-6, 6, size=count))
            return Scaled(codes, scales)
        scales = (formats.e4m3(float(2 ** rng.uniform(-5, 8))) for _ in range(count))
        return Scaled(codes, tuple(scales), 2.0 ** -int(rng.integers(3, 9)))

    ones = Scaled((2,) * 32, (1.0, 1.0))
    mixed = Scaled((2,) * 16 + (9,) * 16, (2.0, 8.0), 0.5)
    other = Scaled((4,) * 16 + (2,) * 16, (4.0, 0.5), 0.125)
    cases = [(ones, ones), (mixed, ones), (mixed, other)]
    for count, block in ((1, 16), (3, 16), (4, 16), (2, 32), (3, 32), (5, 16)):
        cases.append((vector(count, block), vector(count, block)))
    return cases


def dot_with(a, b, left=1, right=1, first=False, values=E2M1):
    """Return the dot product of two vectors, with a mistake in it.

    left, right: 0 leaves out the scales of a's or of b's blocks. first: take the scales
    of the first block for all. values: of the codes.
    """
    total = 0.0
    for k in range(len(a.scales)):
        at = 0 if first else k
        part = sum(
            values[a.codes[i]] * values[b.codes[i]]
            for i in range(k * a.block, (k + 1) * a.block)
        )
        total += part * a.scales[at] ** left * b.scales[at] ** right
    return total * a.tensor * b.tensor


def why_not_this_dot(a, b, got):
    """Say what is wrong with a dot product."""
    if type(got) not in (int, float):
        return "Return a number."
    right = formats.scaled_dot(a, b)
    tensors, unsigned = a.tensor * b.tensor, [*E2M1[:8], *E2M1[:8]]
    mistakes = [
        (right / tensors, "The scales of the two tensors are missing."),
        (right / a.tensor, "The scale of the first tensor is missing."),
        (right / b.tensor, "The scale of the second tensor is missing."),
        (dot_with(a, b, left=0), "The scales of a's blocks are missing."),
        (dot_with(a, b, right=0), "The scales of b's blocks are missing."),
        (dot_with(a, b, left=0, right=0), "The scales of the blocks are missing."),
        (dot_with(a, b, first=True), "The scales of the first block are used for all."),
        (dot_with(a, b, values=unsigned), "Codes 8 to 15 are negative numbers."),
        (dot_with(a, b, values=range(16)), "A code is not a number: E2M1[code] is."),
    ]
    for value, why in mistakes:
        if abs(got - value) <= 1e-9 * abs(value) and value != right:
            return why
    return (
        f"A block has {a.block} elements here. It has its own sum, which is "
        "multiplied by the block's two scales."
    )
