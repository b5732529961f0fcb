"""A launch while it runs: its threads, warps and blocks, and `cuda` as they see it."""
