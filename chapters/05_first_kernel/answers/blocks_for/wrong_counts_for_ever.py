# verdict: endless-loop
# Count the blocks until no element is left; but n never gets smaller.
def blocks_for(n, threads):
    blocks = 0
    while n > 0:  # <- here
        blocks += 1
    return blocks
