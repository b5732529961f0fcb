# verdict: wrong-value
# The number itself counts as a step, too.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = steps_gpu(numbers[i]) + 1
