"""The calls at which a thread waits for others."""

BARRIERS = frozenset(
    ("syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or")
)
WARP_OPERATIONS = frozenset(
    (
        "syncwarp shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync all_sync "
        "any_sync eq_sync ballot_sync match_any_sync match_all_sync activemask"
    ).split()
)
