"""A mechanism in a case of OpenFOAM: `combred export MECHANISM CASE --openfoam`."""
