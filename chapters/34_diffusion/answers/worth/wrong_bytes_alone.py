# verdict: wrong-value
# Every kernel waits for memory, so the bytes decide.
def worth(profile, bandwidth, rate, floor):
    """Return the row with the most to gain, and the step's speed-up from it."""
    gains = []
    for calls, seconds, moved, computed in profile:
        least = calls * max(moved / bandwidth, floor)
        gains.append(max(seconds - least, 0))
    whole = sum(seconds for _, seconds, _, _ in profile)
    most = max(gains)
    return gains.index(most), whole / (whole - most)
