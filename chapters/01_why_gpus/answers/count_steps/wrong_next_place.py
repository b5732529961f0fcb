# verdict: out-of-bounds
# Counting from 1.
@cuda.jit
def count_steps(numbers, out):
    """Write how many steps lead from each of the numbers to 1 into out."""
    i = cuda.grid(1)

    if i < out.size:
        out[i + 1] = steps_gpu(numbers[i])
