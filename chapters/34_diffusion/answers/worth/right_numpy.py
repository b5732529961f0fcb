# verdict: pass
# All rows at once.
def worth(profile, bandwidth, rate, floor):
    """Return the row with the most to gain, and the step's speed-up from it."""
    calls, seconds, moved, computed = np.array(profile).T
    least = np.maximum.reduce([moved / bandwidth, computed / rate, 0 * moved + floor])
    gain = np.maximum(seconds - calls * least, 0)
    return int(gain.argmax()), seconds.sum() / (seconds.sum() - gain.max())
