"""Chemistry: mechanism, thermodynamics, reactions, transport, CVODE.

The first room of the flow. `stepper.Advance` is the interface between chemistry and its users: it
maps the states of a batch to the states one time step later. CVODE is one, a surrogate is one.
"""
