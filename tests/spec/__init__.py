"""The executable specification: the obvious version of what the product does in columns.

Read it beside docs/THEORY.md; a file is a section of it. The product never imports it. Tests name
it as the engine ``spec``.
"""

import shiq.check
from jobs.checking import options
from jobs.commands import options as _command_options

# Whatever copies the names of the engines has them by now: to users `spec` is none.
assert shiq.check and _command_options
options.ENGINES = (*options.ENGINES, "spec")
options._FAR = {**options._FAR, "spec": "tests.spec.knowledge_base:SpecKnowledgeBase"}
