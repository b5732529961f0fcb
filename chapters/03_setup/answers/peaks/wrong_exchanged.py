# verdict: wrong-value
# Arithmetic comes first.
def peaks(gpu):
    """Return (GB/s, GFLOP/s) from sms, lanes, khz, memory_khz and bus_bits."""
    bandwidth = 2 * gpu["memory_khz"] * 1e3 * gpu["bus_bits"] / 8
    arithmetic = 2 * gpu["sms"] * gpu["lanes"] * gpu["khz"] * 1e3
    return arithmetic / 1e9, bandwidth / 1e9  # <- here
