"""States of a flow: mixtures of fresh gas, burnt gas, air and fuel at any pressure.

`states` fills a block of a state file with trajectories of four kinds, `ignitions`, `mixtures`,
`layers` and `flames`, all of a kind at once. They start from the random streams of `streams`.
"""

from combred.experiments.flow.states import FlowBlock, FlowStates

__all__ = ["FlowBlock", "FlowStates"]
