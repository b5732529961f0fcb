# verdict: endless-loop
# Thread i counts the steps of i; but half of 0 is 0 for ever.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = steps_gpu(i)
