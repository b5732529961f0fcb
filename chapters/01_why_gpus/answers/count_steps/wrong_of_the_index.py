# verdict: wrong-value
# Thread i counts the steps of i; of 1 more, since 0 never ends.
@cuda.jit
def count_steps(numbers, out):
    """Write how many steps lead from each of the numbers to 1 into out."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = steps_gpu(i + 1)
