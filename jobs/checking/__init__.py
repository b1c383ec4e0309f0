"""Parts of the public calls of `shiq.check`, one concept a file. Each file imports earlier ones
only: options, base, inputs, answer, deciding, slices, certifying, session.
"""
