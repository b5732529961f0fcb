# verdict: wrong-value
# A warp has 32 lanes.
def peaks(gpu):
    """Return (GB/s, GFLOP/s) from sms, lanes, khz, memory_khz and bus_bits."""
    bandwidth = 2 * gpu["memory_khz"] * 1e3 * gpu["bus_bits"] / 8
    arithmetic = 2 * gpu["sms"] * 32 * gpu["khz"] * 1e3
    return bandwidth / 1e9, arithmetic / 1e9  # <- here
