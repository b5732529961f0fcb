# verdict: wrong-value
# Each wire carries one bit per cycle.
def peaks(gpu):
    """Return (GB/s, GFLOP/s) from sms, lanes, khz, memory_khz and bus_bits."""
    bandwidth = gpu["memory_khz"] * 1e3 * gpu["bus_bits"] / 8
    arithmetic = 2 * gpu["sms"] * gpu["lanes"] * gpu["khz"] * 1e3
    return bandwidth / 1e9, arithmetic / 1e9  # <- here
