"""Requests through providers' batch APIs: parked while the rows pass, sent together, and read when
the rows pass again.
"""
