# verdict: answer
# The product is the same kernel as in A.
def read_record(question):
    """Return what a record tells."""
    return {  # <- here
        "A": "eager",
        "B": "by hand",
        "C": "compile, CUDA graph",
        "D": "bfloat16",
        "E": "eager, CUDA graph",
        "bias in A": "the product",
        "bias in C": "the product",
    }[question]
