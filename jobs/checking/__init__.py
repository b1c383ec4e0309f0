"""What the public calls of `shiq.check` are made of: one concept, one file; each imports those
before it only.

`options` ← `base` ← `blank_nodes` ← `inputs` ← `answer` ← `crowds` ← `explaining` ← `outside` ←
`deciding` ← `certifying` ← `session` ← `calls`.
"""
