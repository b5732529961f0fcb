# verdict: wrong-value
# A row below its limit counts as a negative gain.
def worth(profile, bandwidth, rate, floor):
    """Return the row with the most to gain, and the step's speed-up from it."""
    gains = []
    for calls, seconds, moved, computed in profile:
        least = calls * max(moved / bandwidth, computed / rate, floor)
        gains.append(seconds - least)
    whole = sum(seconds for _, seconds, _, _ in profile)
    most = max(gains)
    return gains.index(most), whole / (whole - most)
