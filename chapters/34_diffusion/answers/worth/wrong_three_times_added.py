# verdict: wrong-value
# A call takes the time of its bytes, then of its FLOPs, then of its launch.
def worth(profile, bandwidth, rate, floor):
    """Return the row with the most to gain, and the step's speed-up from it."""
    gains = []
    total = 0.0
    for calls, seconds, size, flops in profile:
        limit = calls * (size / bandwidth + flops / rate + floor)
        gains.append(max(0.0, seconds - limit))
        total += seconds
    row = gains.index(max(gains))
    return row, total / (total - gains[row])
