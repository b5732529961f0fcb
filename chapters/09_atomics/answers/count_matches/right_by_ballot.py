# verdict: pass
# A warp counts its matches by a vote, and adds them once.
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    votes = cuda.ballot_sync(0xFFFFFFFF, i < x.size and x[i] == wanted)
    if i % 32 == 0 and votes:
        cuda.atomic.add(out, 0, cuda.popc(votes))
