"""What async needs: the event-loop thread, calling the user's functions, locks and whole-file
writes.
"""
