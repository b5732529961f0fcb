# verdict: unwritten
# out is the result.
@cuda.jit
def count_steps(numbers, out):
    """Write how many steps lead from each of the numbers to 1 into out."""
    i = cuda.grid(1)

    if i < out.size:
        out = steps_gpu(numbers[i])
