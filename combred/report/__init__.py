"""The pages report.html, of a run, and check.html, of a mechanism, drawn from files of numbers.

Last in the flow. `writing` has the report of a run, `check` the page of a check, which needs no
torch. Nothing else in combred imports matplotlib.
"""
