"""Random stream rules: programs with their input, and the same said to clingo."""
