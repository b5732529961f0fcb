# verdict: answer
# It runs the same kernels as A, so it is eager, too.
def read_record(question):
    """Return what a record tells."""
    return {  # <- here
        "A": "eager",
        "B": "by hand",
        "C": "compile, CUDA graph",
        "D": "bfloat16",
        "E": "eager",
        "bias in A": "the product",
        "bias in C": "the ReLU",
    }[question]
