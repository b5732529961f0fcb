# verdict: endless-loop
# Add blocks until there are enough threads; but threads stays 0.
def launch_for(n):
    blocks, threads = 0, 0
    while blocks * threads < n:  # <- here
        blocks += 1
    return blocks, 256
