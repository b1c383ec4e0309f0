"""Parts of the public calls of `shiq.check`, one concept a file. Each file imports those before it
only: options, base, inputs, answer, deciding, slices, certifying, session.
"""
