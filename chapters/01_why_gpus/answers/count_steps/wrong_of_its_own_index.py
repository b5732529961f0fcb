# verdict: endless-loop
# Thread i counts the steps of i, and from 0 no way leads to 1.
@cuda.jit
def count_steps(numbers, out):
    """Write how many steps lead from each of the numbers to 1 into out."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = steps_gpu(i)  # <- here
