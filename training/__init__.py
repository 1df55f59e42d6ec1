"""How the embedded judge is trained: data by rule, a trainer, an exporter. Not part of the package
(see README.md).
"""
