"""Which edition of ``--json`` this is; its types, which only the schema needs, are in
``documents``.
"""

SCHEMA = "adjudge.results/1"
"""The version: a number that grows when something is taken away or changes its meaning."""
