"""What every check shares: the exercise, its cases, comparing values, the verdict."""
