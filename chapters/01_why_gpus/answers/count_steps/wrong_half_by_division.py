# verdict: float64
# Half of n is n / 2.
@cuda.jit
def count_steps(numbers, out):
    """Write into out how many steps lead from each of the numbers to 1."""
    i = cuda.grid(1)

    if i < out.size:
        n = numbers[i]
        count = 0
        while n != 1:
            if n % 2:
                n = 3 * n + 1
            else:
                n = n / 2  # <- here
            count += 1
        out[i] = count
