"""The sandbox, the only place where generated code runs.

::

    host.py ── starts ──▶ keeper.py | bwrap | docker ── starts ──▶ child.py ── runs the code
       ▲                  (the wall: sandlock.py, bubblewrap.py,      │ limits itself, drops its
                          rights,
       │                   container.py, none.py)                     ▼ loads the filter of
       │                   seccomp.py
       └───────────── lines of JSON: printed text, calls of tools, the result ──────────────┘

find.py picks a wall that holds, probe.py tries to break it first. meter.py looks at what the files
of a run take up.
"""
