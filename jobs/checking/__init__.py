"""What the public calls of `shiq.check` are made of: one concept, one file; each imports those before it only.

`options` ← `base` ← `blank_nodes` ← `inputs` ← `answer` ← `crowds` ← `deciding` ← `certifying` ← `session`.
"""

from shiq.shadowing import refuse_others

# Here, since it has to come before the first import of a package beside this one.
refuse_others()
