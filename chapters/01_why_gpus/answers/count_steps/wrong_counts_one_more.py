# verdict: wrong-value
# The number itself counts, too.
@cuda.jit
def count_steps(numbers, out):
    """Write how many steps lead from each of the numbers to 1 into out."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = steps_gpu(numbers[i]) + 1
