# verdict: pass
# Sort the rows by how much they can gain.
def worth(profile, bandwidth, rate, floor):
    """Return the row with the most to gain, and the step's speed-up from it."""
    def gain(row):
        calls, seconds, moved, computed = row
        return max(seconds - calls * max(floor, moved / bandwidth, computed / rate), 0)

    order = sorted(range(len(profile)), key=lambda k: -gain(profile[k]))
    whole = sum(row[1] for row in profile)
    return order[0], 1 / (1 - gain(profile[order[0]]) / whole)
