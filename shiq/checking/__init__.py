"""What the public calls of `shiq.check` are made of: one concept, one file; each imports those before it only.

`options` ← `base` ← `inputs` ← `answer` ← `crowds` ← `deciding` ← `certifying` ← `session`.
"""
