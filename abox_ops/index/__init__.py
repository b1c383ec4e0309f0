"""What is worked out of (T, A) once, and kept through deletions."""
