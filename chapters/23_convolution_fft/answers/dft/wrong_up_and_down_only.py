# verdict: wrong-value
# The roots are 1, -i, -1, i.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    powers = [1, -1j, -1, 1j]
    return [  # <- here
        sum(x[j] * powers[j * k % 4] for j in range(n)) for k in range(n)
    ]
