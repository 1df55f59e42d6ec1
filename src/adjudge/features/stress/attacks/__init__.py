"""How far a judge can be moved by text alone: families of attacks, attacked rows, what came of
them.
"""
