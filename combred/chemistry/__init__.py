"""Chemistry: mechanism, thermodynamics, reaction rates, transport, and CVODE's reactor."""
