"""Automatic condensation reduction: cut a layer, retrain, test, and go back where it failed.

Chen & Xu 2024, section 2.4.2 (figure 1) and equations (21) to (25). Takes a network and two
functions of the caller, so that one loop serves images and flames; gives the smallest network that
met its criterion, and a trace of every event.

    train(network, steps, rate)   trains in place for so many of the caller's steps (in the paper a
                                  step is an epoch) from the initial learning rate `rate`; may
                                  return a training loss, which goes into the trace
    metric(network) -> float      higher is better: accuracy, minus a loss, minus an ignition error

    settings = AutomaticSettings(main_max=0.97, main_min=0.95, layer_max=0.95, layer_min=0.93,
                                 last_criterion=0.92, target=50_000)
    found = reduce_automatically(network, images[:1], train, metric, settings, folder=Path("run"))
    found.network, found.parameters, found.metric, found.main, found.reason, found.trace

The loop. Train until the metric meets the main criterion; then a *main reduction*: for each layer
in order, keep a save point, condense the layer at its threshold, train up to the step limit,
testing. Met: the next layer, and criteria and learning rate fall. Not met, or far off: back to the
save point, with more steps and a stricter threshold. Then train until the main criterion again, and
so on until the target is reached or nothing more reduces; last, the final cut of the classifier.

What is the caller's: the mode of the network (`train` and `metric` set the one they need), batch
norm statistics, and the optimiser. Each call of `train` may start a fresh one; or it keeps one for
as long as it is given the same parameters, which is until the next cut or rollback (a resumed run
starts a fresh one all the same). `metric` should be a plain function of the network.

With a `folder` the loop can be killed anywhere: it writes its state after every event, and the same
call goes on where it stood, losing at most one chunk of training. torch's CPU generator is stored
as well: a `train` that depends on the network, its arguments and that generator alone gives the
same trace and network, interrupted or not. Files: state.json, trace.jsonl (one `Event` a line,
drawn by `benchmarks.vision.automatic_figures`), network-<event>.safetensors (weights alone: shapes are rebuilt
from the network given and the units of each layer).

Where the paper leaves a choice:

- *t_reduction* is the number of reductions done, less one: its criteria "after 16 reductions"
  (0.87837, 0.83837) are equation (22) at 15. Equation (21) has no end; beyond T_lr the rate stays
  at its minimum, as the criteria do.
- *When to test.* Every `test_every` steps; a layer is done as soon as it meets its criterion
  (section 3.2.2), but not before it has been trained once.
- *Deviation* counts as any other failure, in t_fail and in the step limit.
- *The last layer* keeps its own step limit; its failures leave that of the others alone.
- *A layer in which nothing merges* is done. It is no reduction (t_reduction stays), but a success
  that left more than 0.999 of the parameters: its threshold becomes laxer.
- *The end.* Exact copies merge at any threshold, a laxer threshold may always be tried, and a
  metric need not recover. So there are limits: `attempts`, `patience`, `max_steps`.
- *The final cut* is tried once, on a network that meets the main criterion. It is asked to meet the
  layer criterion: the paper's own final network, 83.21 %, does not meet its main one, 85 %.
"""

from combred.reduction.automatic.criteria import AutomaticSettings, fall, logistic
from combred.reduction.automatic.loop import reduce_automatically
from combred.reduction.automatic.trace import AutomaticReduction, Event, Found

__all__ = [
    "AutomaticReduction",
    "AutomaticSettings",
    "Event",
    "Found",
    "fall",
    "logistic",
    "reduce_automatically",
]
