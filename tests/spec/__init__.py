"""The executable specification: the obvious version of what the product does in columns.

Read it beside docs/THEORY.md; a file is a section of it. The product never imports it. Tests name
it as the engine ``spec``, in calls and in commands that run in their process.
"""

from typing import Any

import shiq.api
from shiq.jobs.checking import options
from shiq.jobs.commands.options import NearestChoice

# Whatever copies the names of the engines has them by now: to users `spec` is none.
assert shiq.api
options.ENGINES = (*options.ENGINES, "spec")
options._DISTRIBUTED_ENGINES = {
    **options._DISTRIBUTED_ENGINES,
    "spec": "tests.spec.knowledge_base:SpecKnowledgeBase",
}

_convert = NearestChoice.convert


def _convert_engine(self: NearestChoice, value: Any, *context: Any) -> str:
    is_engine = value == "spec" and "local" in self.choices
    return "spec" if is_engine else _convert(self, value, *context)


NearestChoice.convert = _convert_engine
