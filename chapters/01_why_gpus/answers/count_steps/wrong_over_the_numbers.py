# verdict: input-written
# Working in place saves an array.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        numbers[i] = steps_gpu(numbers[i])
