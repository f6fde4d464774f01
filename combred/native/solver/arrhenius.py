"""Arrhenius expressions as C++, in the units of source/solver/rates.hpp."""

from combred.chemistry.rate_forms import Arrhenius
from combred.native.solver.terms import LOG2_C0, LOG2_E, LOG2_T0, real, total

POWERS = {
    0.0: "",
    1.0: " * g.T",
    2.0: " * g.T * g.T",
    -1.0: " * g.per_T",
    -2.0: " * g.per_T * g.per_T",
}
MOST_LOG2_A = 90.0  # of A T^b that stays in the range of float


def log2_terms(
    rate: Arrhenius, order: float = 0.0, over: Arrhenius | None = None
) -> tuple[float, float, float]:
    """log2 of a rate constant, over another one if there is one, as x + y log2_T - z per_T; order:
    power of C0 in its unit."""
    ln_A, b, T_a = rate.ln_A, rate.b, rate.T_a
    if over is not None:
        ln_A, b, T_a = ln_A - over.ln_A, b - over.b, T_a - over.T_a
    return ln_A * LOG2_E + b * LOG2_T0 + order * LOG2_C0, b, T_a * LOG2_E


def arrhenius(rate: Arrhenius, order: float = 0.0, over: Arrhenius | None = None) -> str:
    """The expression of `log2_terms`."""
    first, b, T_a = log2_terms(rate, order, over)
    return total([(1.0, f"all_of<R>({real(first)})"), (b, "g.log2_T"), (-T_a, "g.per_T")])


def power_of_T(rate: Arrhenius, order: float) -> str:
    """A rate constant A T^b without an exponential, of a small whole b and no activation
    temperature; empty for others."""
    if rate.T_a != 0.0 or rate.b not in POWERS:
        return ""
    log2_A = rate.ln_A * LOG2_E + order * LOG2_C0
    return f"all_of<R>({real(2.0**log2_A)}){POWERS[rate.b]}" if abs(log2_A) < MOST_LOG2_A else ""


def slope(rate: Arrhenius, over: Arrhenius | None = None) -> str:
    """d ln k / d ln T."""
    b, T_a = rate.b, rate.T_a
    if over is not None:
        b, T_a = b - over.b, T_a - over.T_a
    return total([(1.0, f"all_of<R>({real(b)})"), (T_a, "g.per_T")])
