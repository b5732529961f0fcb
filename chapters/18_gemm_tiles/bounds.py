"""What a step costs, by hand: passes, instructions, and the time that follows."""

SMS, CLOCK = 132, 1.98e9  # an H200; the clock at its highest


def bound(passes, instructions, n=4096):
    """Return the least ms of n^3 multiply-adds, from what a step takes."""
    cycles = max(passes, instructions / 4)
    return n**3 / 32 * cycles / SMS / CLOCK * 1e3


def show_bound(name, passes, instructions):
    """Print the bound of a kernel, in ms and in TFLOP/s."""
    ms = bound(passes, instructions)
    print(
        f"{name:12} {passes:6.2f} passes, {instructions:6.2f} instructions "
        f"a step: {ms:6.1f} ms, {2 * 4096**3 / ms / 1e9:5.2f} TFLOP/s"
    )


def passes(words):
    """Return how many passes serve these words of one request."""
    banks = [word % 32 for word in set(words)]
    return max(banks.count(bank) for bank in banks)
