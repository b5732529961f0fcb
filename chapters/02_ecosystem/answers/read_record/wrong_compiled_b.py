# verdict: answer
# B fuses bias and ReLU, as a compiler does.
def read_record(question):
    """Return what a record tells."""
    return {  # <- here
        "A": "eager",
        "B": "compile, CUDA graph",
        "C": "compile, CUDA graph",
        "D": "bfloat16",
        "E": "eager, CUDA graph",
        "bias in A": "the product",
        "bias in C": "the ReLU",
    }[question]
