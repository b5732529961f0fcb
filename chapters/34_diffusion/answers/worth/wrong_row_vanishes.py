# verdict: wrong-value
# Let the row take no time at all.
def worth(profile, bandwidth, rate, floor):
    """Return the row with the most to gain, and the step's speed-up from it."""
    gains = []
    for calls, seconds, moved, computed in profile:
        least = calls * max(moved / bandwidth, computed / rate, floor)
        gains.append(max(seconds - least, 0))
    whole = sum(seconds for _, seconds, _, _ in profile)
    most = max(gains)
    k = gains.index(most)
    return k, whole / (whole - profile[k][1])
