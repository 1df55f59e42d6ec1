"""One file per provider. Each only translates: a Request into its protocol, its answer into a
Reply.
"""
