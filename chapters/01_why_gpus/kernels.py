"""What the races of chapter 01 compute, on the CPU and on the GPU."""

from numba import cuda, njit, prange


def steps(n):
    """Count the steps that lead from n to 1."""
    count = 0
    while n != 1:
        n = 3 * n + 1 if n & 1 else n >> 1
        count += 1
    return count


steps_cpu = njit(steps)
steps_gpu = cuda.jit(device=True)(steps)


@njit
def in_turn_cpu(numbers, out):
    for i in range(numbers.size):
        out[i] = steps_cpu(numbers[i])


@cuda.jit
def in_turn_gpu(numbers, out):
    for i in range(numbers.size):
        n = numbers[i]
        out[i] = steps_gpu(n)


@njit(parallel=True)
def shared_out_cpu(numbers, out):
    for i in prange(numbers.size):
        out[i] = steps_cpu(numbers[i])


@njit
def chase_cpu(link, count, out):
    i = out[0]  # where the last run ended: nothing is cached there yet
    for _ in range(count):
        i = link[i]
    out[0] = i


@cuda.jit
def chase_gpu(link, count, out):
    i = out[0]  # where the last run ended: nothing is cached there yet
    for _ in range(count):
        i = link[i]
    out[0] = i
