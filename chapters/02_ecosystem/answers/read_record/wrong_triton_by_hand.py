# verdict: answer
# Triton is what we wrote by hand.
def read_record(question):
    """Return what a record tells."""
    return {  # <- here
        "A": "eager",
        "B": "by hand",
        "C": "by hand",
        "D": "bfloat16",
        "E": "eager, CUDA graph",
        "bias in A": "the product",
        "bias in C": "the ReLU",
    }[question]
