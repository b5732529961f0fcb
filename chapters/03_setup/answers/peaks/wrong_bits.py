# verdict: wrong-value
# The bandwidth is twice the width of the bus times the clock.
def peaks(gpu):
    """Return (GB/s, GFLOP/s) from sms, lanes, khz, memory_khz and bus_bits."""
    bandwidth = 2 * gpu["memory_khz"] * 1e3 * gpu["bus_bits"]
    arithmetic = 2 * gpu["sms"] * gpu["lanes"] * gpu["khz"] * 1e3
    return bandwidth / 1e9, arithmetic / 1e9  # <- here
