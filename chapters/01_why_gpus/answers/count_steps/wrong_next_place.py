# verdict: out-of-bounds
# Counting starts at 1, so result i goes to place i + 1.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        out[i + 1] = steps_gpu(numbers[i])
