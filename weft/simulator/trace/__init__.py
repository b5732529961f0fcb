"""What a launch did, written down: every access, and what happened before what."""
