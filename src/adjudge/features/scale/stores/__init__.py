"""Where several processes keep one run: records that are whole or absent, merged into an ordinary
ledger at the end.
"""
