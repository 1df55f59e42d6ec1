"""Providers' batch APIs: many requests in one file, answered within a day, at about half the
price.
"""
