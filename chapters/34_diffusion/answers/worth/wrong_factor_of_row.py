# verdict: wrong-value
# Choose the row that is furthest from its limit as a factor.
def worth(profile, bandwidth, rate, floor):
    """Return the row with the most to gain, and the step's speed-up from it."""
    ratios = []
    for calls, seconds, moved, computed in profile:
        least = calls * max(moved / bandwidth, computed / rate, floor)
        ratios.append((seconds / least, seconds - least))
    whole = sum(seconds for _, seconds, _, _ in profile)
    k = max(range(len(ratios)), key=lambda k: ratios[k][0])
    return k, whole / (whole - max(ratios[k][1], 0))
