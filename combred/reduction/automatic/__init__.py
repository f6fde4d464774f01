"""Automatic condensation: reduce a layer, retrain, test, and roll back where it failed.

Chen & Xu 2024, section 2.4.2 (figure 1) and equations (21) to (25). Takes a network and two
functions of the caller:

    train(network, rate)      one training step of the caller, in place (an epoch in the paper),
                              from the initial learning rate `rate`; may return a training loss
    metric(network) -> float  higher is better: accuracy, minus a loss, minus an ignition error

    settings = AutomaticSettings(main_max=0.97, main_min=0.95, layer_max=0.95, layer_min=0.93,
                                 last_criterion=0.92, target=50_000)
    found = reduce_automatically(network, images[:1], train, metric, settings, folder=Path("run"))
    found.network, found.smallest.metric, found.main, found.reason, found.trace

The loop. Train until the metric meets the main criterion. Then begin a *main reduction*: for each
layer in order, keep a save point, condense the layer at its threshold, and train up to the step
limit, testing after each step. If the criterion is met, go on to the next layer; criteria and
learning rate fall. If it is not met, or far from met, return to the save point, with more steps and
a stricter threshold. Then train until the main criterion is met again, and so on, until the target
is reached or nothing more can be reduced. At the end comes the final cut, of the layer before the
classifier.

The caller is responsible for the mode of the network (`train` and `metric` set the one they need),
for batch norm statistics and for the optimiser. `train` may keep an optimiser as long as it is
given the same parameters, which is until the next reduction or rollback. `metric` should depend on
the network only.

With a `folder` the loop can be killed at any time: the same call goes on after the last event. If
`train` depends only on the network, its rate and torch's CPU generator, which is stored, an
interrupted run gives the same trace and network. Files: trace.jsonl, one `Event` a line;
trace.state; networkN.state, the weights that event N made.

Where the paper leaves a choice:

- *t_reduction* is the number of reductions less one: its criteria "after 16 reductions" (0.87837,
  0.83837) are equation (22) at 15. Equation (21) has no end; beyond T_lr the rate stays at its
  minimum, as the criteria do.
- A layer is done as soon as it meets its criterion (section 3.2.2), but is trained at least once.
- *Deviation* counts as any other failure, in t_fail and in the step limit.
- *The last layer* has its own step limit; its failures do not change that of the others.
- *A layer in which nothing merges* is done. It does not count as a reduction (t_reduction stays),
  but as a success that left more than 0.999 of the parameters: its threshold becomes less strict.
- *The end.* Exact copies merge at any threshold, a less strict threshold can always be tried, and
  a metric need not recover. The limits `attempts`, `patience` and `max_steps` end the loop.
- *The final cut* is tried once, on a network that meets the main criterion, and has to meet the
  layer criterion: the paper's own final network, 83.21 %, does not meet its main criterion, 85 %.
"""

from combred.reduction.automatic.criteria import AutomaticSettings
from combred.reduction.automatic.events import AutomaticReduction, Event
from combred.reduction.automatic.reduction import reduce_automatically

__all__ = ["AutomaticReduction", "AutomaticSettings", "Event", "reduce_automatically"]
