# verdict: pass
# The guard the other way round.
@cuda.jit
def count_steps(numbers, out):
    """Write how many steps lead from each of the numbers to 1 into out."""
    i = cuda.grid(1)
    if i >= numbers.size:
        return
    n = numbers[i]
    out[i] = steps_gpu(n)
