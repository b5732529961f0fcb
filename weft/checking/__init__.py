"""The parts that all checks share: exercise, cases, comparison of values, verdict."""
