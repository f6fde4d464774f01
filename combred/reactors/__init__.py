"""Reactors over the compiled solver, in the words of Cantera: perfectly stirred, plug flow, with a
profile of pressure or volume; and derivatives."""
