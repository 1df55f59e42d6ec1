"""What other programs may ask: to judge and compare texts within a budget, and what is in runs. No
network is in here.
"""
