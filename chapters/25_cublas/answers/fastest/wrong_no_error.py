# verdict: exception
# Every algorithm will run.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    times = [[] for _ in range(count)]
    for _ in range(9):
        for i in range(count):
            times[i].append(run(i))  # <- here
    return int(np.argmin([np.median(t[1:]) for t in times]))
