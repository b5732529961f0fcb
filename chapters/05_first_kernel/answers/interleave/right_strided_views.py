# verdict: pass
# Two views of out, the even and the odd elements.
@cuda.jit
def interleave(a, b, out):
    i = cuda.grid(1)
    even = out[0::2]
    odd = out[1::2]
    if i < even.size:
        even[i] = a[i]
    if i < odd.size:
        odd[i] = b[i]
