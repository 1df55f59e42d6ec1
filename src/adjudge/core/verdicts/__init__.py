"""Reads verdicts out of replies (Reply → Verdict)."""

VERSION = "3"
"""Version of the reading rules: raised with any change that can give the same reply another
verdict. Part of a judge's identity.
"""
