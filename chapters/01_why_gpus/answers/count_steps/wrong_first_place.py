# verdict: unwritten
# The result goes to the front of out.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        out[0] = steps_gpu(numbers[i])
