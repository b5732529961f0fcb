# verdict: endless-loop
# int32 is the GPU's native width, and the numbers are small.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        n = np.int32(numbers[i])
        count = 0
        while n != 1:
            n = np.int32(3 * n + 1 if n & 1 else n >> 1)
            count += 1
        out[i] = count
