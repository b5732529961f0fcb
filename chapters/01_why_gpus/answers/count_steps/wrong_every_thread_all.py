# verdict: race
# A loop over all of them, as on the CPU.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        for k in range(out.size):
            out[k] = steps_gpu(numbers[k])  # <- here
