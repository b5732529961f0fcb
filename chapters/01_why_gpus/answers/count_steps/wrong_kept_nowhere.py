# verdict: unwritten
# The function has been called, so its result is there.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        steps_gpu(numbers[i])
