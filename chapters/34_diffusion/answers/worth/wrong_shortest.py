# verdict: wrong-value
# At best, a call takes the shortest of the three times.
def worth(profile, bandwidth, rate, floor):
    """Return the row with the most to gain, and the step's speed-up from it."""
    gains = []
    for calls, seconds, moved, computed in profile:
        least = calls * min(moved / bandwidth, computed / rate, floor)
        gains.append(max(seconds - least, 0))
    whole = sum(seconds for _, seconds, _, _ in profile)
    most = max(gains)
    return gains.index(most), whole / (whole - most)
