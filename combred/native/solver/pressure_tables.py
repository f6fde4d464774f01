"""Rate constants that depend on the pressure by tables or polynomials, PLOG and Chebyshev, as C++:
statements that set `rate`, `d` and `of_p`, d ln k / d ln p."""

import cantera as ct
import numpy as np

from combred.chemistry.rate_forms import Chebyshev, Plog
from combred.native.solver.arrhenius import arrhenius, slope
from combred.native.solver.layout import Layout
from combred.native.solver.terms import LOG2_10, LOG2_C0, LOG2_E, TYPE, body, indented, real, total

LOG2_RC0 = float(np.log2(ct.gas_constant)) + LOG2_C0  # of p [Pa] over g.p


class Pressures:
    """The tables of pressures of a mechanism, each once: `grids` and their first place in g.hat."""

    def __init__(self, layout: Layout):
        self.grids: dict[tuple[float, ...], int] = {}
        self.size = 0
        for rate in (term.reaction.rate for term in layout.terms):
            if isinstance(rate, Plog) and rate.pressures not in self.grids:
                self.grids[rate.pressures] = self.size
                self.size += len(rate.pressures)

    def names(self, grid: tuple[float, ...]) -> tuple[list[str], list[str]]:
        """The weights of a grid and their derivatives by log2 p, as expressions."""
        places = range(self.grids[grid], self.grids[grid] + len(grid))
        return [f"g.hat[{i}]" for i in places], [f"g.hat_slope[{i}]" for i in places]

    def text(self) -> str:
        """The function `set_pressures`."""
        lines = []
        if self.grids:
            lines = [f"const V log2_p = log2(g.p) + {real(LOG2_RC0)};"]
        for grid, first in self.grids.items():
            own = hats(grid, "log2_p")
            for i in range(len(grid)):
                own.append(f"g.hat[{first + i}] = hat{i}; g.hat_slope[{first + i}] = slope{i};")
            lines += ["{", *indented(own), "}"]
        return (
            "// Weights of the pressures of tables: ln k is linear between them.\n"
            "template <class R> INLINE void set_pressures(Gas<R> &g) {\n"
            f"{body([TYPE, *lines, '(void)g;'])}}}\n"
        )


def hats(grid: tuple[float, ...], log2_p: str) -> list[str]:
    """Statements that set hat0, hat1, ... of a grid of pressures, whose sum is 1, and slope0,
    slope1, ..., their derivatives by log2 p."""
    at = np.log2(grid)
    lines = []
    for i in range(len(grid) - 1):
        per = real(1.0 / (at[i + 1] - at[i]))
        lines += [
            f"const V at{i} = ({log2_p} - {real(at[i])}) * {per};",
            f"const V up{i} = at_most(at_least(at{i}, 0.0), 1.0);",
            f"const V rise{i} = select(up{i} == at{i}, all_of<R>({per}), V{{}});",
        ]
    for i in range(len(grid)):
        before, rise = (f"up{i - 1}", f"rise{i - 1}") if i > 0 else ("all_of<R>(1.0)", "V{}")
        last = i + 1 == len(grid)
        lines.append(f"const V hat{i} = {before}{'' if last else f' - up{i}'};")
        lines.append(f"const V slope{i} = {rise}{'' if last else f' - rise{i}'};")
    return lines


def plog(rate: Plog, weights: tuple[list[str], list[str]], order: float) -> list[str]:
    """Statements that set `rate`, `d` and `of_p`, d ln k / d ln p, from the weights of the
    pressures and their derivatives by log2 p."""
    lines = ["rate = d = of_p = V{};"]
    for weight, slope_of, given in zip(*weights, rate.rates, strict=True):
        expressions = [one for one in given if one.sign != 0.0] or given[:1]
        lines.append("{")
        if len(expressions) == 1:
            lines += [
                f"  const V log2_k = {arrhenius(expressions[0], order)};",
                f"  d = d + {weight} * ({slope(expressions[0])});",
            ]
        else:
            # Over the largest: the sum of exponentials stays in the range of float.
            logs = [f"x{i}" for i in range(len(expressions))]
            lines += [
                f"  const V {x} = {arrhenius(e, order)};"
                for x, e in zip(logs, expressions, strict=True)
            ]
            lines.append("  V most = x0;")
            lines += [f"  most = at_least({x}, most);" for x in logs[1:]]
            lines.append("  V sum = V{}, rise = V{}, k;")
            for x, e in zip(logs, expressions, strict=True):
                lines.append(f"  k = {'-' * (e.sign < 0)}exp2(V({x} - most)); sum = sum + k;")
                lines.append(f"  rise = rise + k * ({slope(e)});")
            lines += [
                "  const V log2_k = most + log2(at_least(sum, LEAST));",
                f"  d = d + {weight} * rise * reciprocal(at_least(sum, LEAST));",
            ]
        lines += [
            f"  rate = rate + {weight} * log2_k;",
            f"  if (D) of_p = of_p + {slope_of} * log2_k;",
            "}",
        ]
    return lines


def chebyshev(rate: Chebyshev, log2_p: str, order: float) -> list[str]:
    """Statements that set `rate`, `d` and `of_p`, from the polynomials in 1 / T and log p."""
    low, high = rate.T_range
    width = 1.0 / high - 1.0 / low
    p_low, p_high = np.log2(rate.p_range)
    lines = [
        f"const V x = {real(2.0 / width)} * g.per_T - {real((1.0 / low + 1.0 / high) / width)};",
        f"const V y = ({log2_p} * R(2) - {real(p_low + p_high)}) * {real(1.0 / (p_high - p_low))};",
    ]
    n_T, n_p = rate.coefficients.shape
    lines += _polynomials("y", "p", n_p) + _polynomials("x", "t", n_T)
    # d T_n / dx = n U_{n-1}
    lines += _polynomials("x", "U", n_T - 1, 2.0) + _polynomials("y", "W", n_p - 1, 2.0)
    rows = [
        total([(float(c) * LOG2_10, f"p{j}") for j, c in enumerate(row)])
        for row in rate.coefficients
    ]
    lines += [f"const V c{i} = {row};" for i, row in enumerate(rows)]
    value = total([(1.0, f"c{i} * t{i}") for i in range(n_T)])
    rise = total([(float(i), f"c{i} * U{i - 1}") for i in range(1, n_T)])
    terms = [
        (float(c) * j, f"t{i} * W{j - 1}")
        for i, row in enumerate(rate.coefficients)
        for j, c in enumerate(row.tolist())
    ]
    return [
        *lines,
        f"rate = {value} + {real(order * LOG2_C0)};",
        f"d = ({rise}) * ({real(-2.0 / width / LOG2_E)} * g.per_T);",
        f"of_p = ({total(terms)}) * {real(2.0 * LOG2_10 / (p_high - p_low))};",
    ]


def _polynomials(x: str, name: str, n: int, second: float = 1.0) -> list[str]:
    """The first n Chebyshev polynomials of x: 1, second x, and 2 x of the last less the one before;
    of the first kind with `second` 1, of the second kind with 2."""
    first = [f"const V {name}0 = all_of<R>(1.0);", f"const V {name}1 = {real(second)} * {x};"]
    rest = [f"const V {name}{i} = R(2) * {x} * {name}{i - 1} - {name}{i - 2};" for i in range(2, n)]
    return [*first, *rest][:n]
