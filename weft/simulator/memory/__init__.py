"""Memory as a simulated kernel sees it: every index is checked."""
