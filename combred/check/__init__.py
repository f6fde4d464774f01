"""Is the solver of a mechanism right? Compared with CVODE in ignitions, states and flames.

`check_mechanism` does it for any mechanism and keeps the numbers in check.json;
`combred.report.check` draws the page from them.
"""

from combred.check.checking import check_mechanism
from combred.check.conditions import Conditions, find_conditions

__all__ = ["Conditions", "check_mechanism", "find_conditions"]
