# verdict: unwritten
# out is the result, so I assign to it.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        out = steps_gpu(numbers[i])
