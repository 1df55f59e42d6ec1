"""Requests through providers' batch APIs.

Requests are parked in a first pass over the rows, sent together, and their replies are read in the
next pass.
"""
