# verdict: wrong-value
# Thread i counts the steps of i + 1, because 0 never gets to 1.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = steps_gpu(i + 1)
