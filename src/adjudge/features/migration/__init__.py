"""``adjudge init --from FILE``: eval files made from the configurations of other tools."""

USES: tuple[str, ...] = ()
"""The features that this one may import: none."""
