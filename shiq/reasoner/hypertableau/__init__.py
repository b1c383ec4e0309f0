"""A bounded, exact hypertableau over DL-clauses (THEORY, "Deciding a shape without a JVM").

`tables` compiles a clausal TBox to integers; `state` holds a partial model, its dependencies and
its trail; `rules` is the deterministic phase; `checks` counts neighbours
and says which nodes need no successors; `search` chooses, expands and jumps back.
"""
