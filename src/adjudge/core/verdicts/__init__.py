"""Reads verdicts out of replies (Reply → Verdict)."""

VERSION = "3"
"""How replies are read: raised with any change that can give the same reply another verdict. Part
of a judge's identity.
"""
