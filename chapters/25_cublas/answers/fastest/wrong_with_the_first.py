# verdict: wrong-value
# Keep the cold run, and add everything up.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    total = dict.fromkeys(range(count), 0.0)
    for _ in range(10):
        for i in list(total):
            try:
                total[i] += run(i)
            except cublasLt.cuBLASLtError:
                del total[i]
    return min(total, key=total.get)  # <- here
