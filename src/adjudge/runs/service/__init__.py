"""Services for other programs, without any network: judging and comparing texts within a budget,
and reading runs.
"""
