# verdict: type
# The function takes all the numbers, as a NumPy function would.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = steps_gpu(numbers)
