"""One file a provider. Each only translates: a Request into its protocol, its
answer into a Reply.
"""
