"""Support for async code: the event-loop thread, calls of user functions, locks and atomic file
writes.
"""
