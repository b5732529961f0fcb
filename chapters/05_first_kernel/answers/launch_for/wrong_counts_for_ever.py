# verdict: endless-loop
# Add blocks until they are enough; the threads of a block are not counted in.
def launch_for(n):
    blocks, threads = 0, 0
    while blocks * threads < n:  # <- here
        blocks += 1
    return blocks, 256
