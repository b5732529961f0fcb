# verdict: pass
# Reverse the guard: threads without a number return.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)
    if i >= numbers.size:
        return
    n = numbers[i]
    out[i] = steps_gpu(n)
