"""Rows over a Ray cluster: workers that run the ordinary engine, one rate limit and one budget for
all of them.
"""
