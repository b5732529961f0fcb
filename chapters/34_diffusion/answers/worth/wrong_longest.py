# verdict: wrong-value
# Choose the longest row, however little it can gain.
def worth(profile, bandwidth, rate, floor):
    """Return the row with the most to gain, and the step's speed-up from it."""
    gains = []
    for calls, seconds, moved, computed in profile:
        least = calls * max(moved / bandwidth, computed / rate, floor)
        gains.append(max(seconds - least, 0))
    whole = sum(seconds for _, seconds, _, _ in profile)
    most = max(gains)
    k = max(range(len(gains)), key=lambda k: profile[k][1])
    return k, whole / (whole - gains[k])
