"""The rates of progress of a mechanism as C++: each reaction is an object, which is printed once.

Takes a `Layout`; gives the statements of each reaction. Two printers: `statements`, with the
derivatives, is that of the solver; `constants` and `of_constants`, without them, are those of a
quasi-steady step, which keeps the rate constants. Rates of progress and all derivatives are
products with a rate constant: a factor on it, set at run time, is in all of them.
"""

from dataclasses import dataclass

from combred.native.arrays import comment
from combred.native.solver.layout import Derivatives, Layout, Terms
from combred.native.solver.polynomials import within_float
from combred.native.solver.pressure_tables import Pressures
from combred.native.solver.rate_constants import Rate, rate_constant
from combred.native.solver.terms import indented, real, total


@dataclass(frozen=True, eq=False)
class Side:
    """The forward (F) or the reverse (B) rate of progress of a reaction.

    k: the expression of the rate constant, without third body, set as `constant`, or in
    k.`direction`; value: that of the rate, `name`; slopes: that of `name`_k by species k;
    derivatives: d `name` / dc_k, with these; last: the species whose slope `value` takes, or None;
    order: the sum of the orders where these are whole, else None.
    """

    k: str
    value: str
    slopes: dict[int, str]
    derivatives: dict[int, str]
    last: int | None
    order: float | None
    name: str
    constant: str
    direction: str

    def statements(self, derivatives: bool = True) -> list[str]:
        """Those that set the rate, and its slopes."""
        value = f"const V {self.name} = {self.value};"
        slopes = [
            f"const V {self.name}_{k} = {slope};"
            for k, slope in self.slopes.items()
            if derivatives or k == self.last
        ]
        return [value, *slopes] if self.last is None else [*slopes, value]


FORWARD, REVERSE = ("F", "kf", "forward"), ("B", "kr", "reverse")


def _side(k: str, orders: dict[int, float], names: tuple[str, str, str]) -> Side:
    """Each factor is taken by itself: a product of two small concentrations alone may underflow."""
    name, constant, _ = names
    slopes, derivatives = {}, {i: f"{name}_{i}" for i in orders}
    if not all(order > 0.5 and abs(order - round(order)) < 1e-9 for order in orders.values()):
        powers = {i: f"power_of<R>(g.c[{i}], {real(order)})" for i, order in orders.items()}
        for i, order in orders.items():
            slope = {i: f"power_slope<R>(g.c[{i}], {real(order)})"}
            slopes[i] = " * ".join([constant, *(powers | slope).values()])
        value = " * ".join([constant, *powers.values()])
        return Side(k, value, slopes, derivatives, None, None, *names)
    flat = [i for i, order in sorted(orders.items()) for _ in range(round(order))]
    for place, i in enumerate(flat):
        rest = flat[:place] + flat[place + 1 :]
        slopes[i] = constant + "".join(f" * g.c[{other}]" for other in rest)
        if (times := flat.count(i)) > 1:
            derivatives[i] = f"{real(times)} * {name}_{i}"
    last = flat[-1] if flat else None
    value = f"{name}_{last} * g.c[{last}]" if flat else constant
    return Side(k, value, slopes, derivatives, last, sum(orders.values()), *names)


@dataclass(frozen=True, eq=False)
class Progress:
    """Reaction i. sides: forward, and reverse of a reversible one; factors: those of their rate
    constants, [M] and one that is set at run time, or empty."""

    i: int
    term: Terms
    rate: Rate
    sides: list[Side]
    factors: str

    def constants(self) -> list[str]:
        """The statements that set the rate constants in Constants k."""
        lines = [f"k.{side.direction}[{self.i}] = {side.k};" for side in self.sides]
        return ["{", *indented([*self.rate.setup, *lines]), "}"]

    def of_constants(self) -> list[str]:
        """The statements that set the rates of progress, of Constants k."""
        lines = []
        for side in self.sides:
            kept = f"k.{side.direction}[{self.i}]"
            lines += [f"const V {side.constant} = {kept}{self.factors};", *side.statements(False)]
        return self._block([*lines, self._net(), self._rates()])

    def statements(self, layout: Layout, derivatives: Derivatives) -> list[str]:
        """The statements that set its places of Progress q."""
        lines = [f"const V {side.constant} = {side.k}{self.factors};" for side in self.sides]
        lines += sum((side.statements() for side in self.sides), [])
        inner = indented(self._derivatives(layout, derivatives))
        return self._block([*self.rate.setup, *lines, self._net(), "if (D) {", *inner, "}"])

    def _block(self, lines: list[str]) -> list[str]:
        reaction = self.term.reaction
        head = f"{{  // {reaction.index + 1}: {comment(reaction.equation)}"
        return [head, *indented(lines), "}"]

    def _net(self) -> str:
        return f"q.q[{self.i}] = {' - '.join(side.name for side in self.sides)};"

    def _rates(self) -> str:
        return f"q.F[{self.i}] = F; q.B[{self.i}] = {'B' if len(self.sides) > 1 else 'V{}'};"

    def _derivatives(self, layout: Layout, derivatives: Derivatives) -> list[str]:
        """The statements that set F, B, d, E, qT and P."""
        i, term, rate = self.i, self.term, self.rate
        lines = [f"if (Matrix<R>::EXACT) {{ {self._rates()} }}"]
        for k in sorted({k for side in self.sides for k in side.slopes}):
            found = " - ".join(s.derivatives[k] for s in self.sides if k in s.slopes)
            lines.append(f"q.d[{derivatives.places[i, k]}] = {found};")
        of_T = f"F * {rate.d}"
        if len(self.sides) > 1:
            ratio = total([(nu, f"g.u[{k}]") for k, nu in term.net.items()])
            lines.append(f"const V of_ratio = {ratio};")
            of_T += f" - B * ({rate.d} - of_ratio)"
        if term.body is not None:
            of_M = f" * {rate.of_M}" if rate.of_M else ""
            lines.append(f"const V E = q.q[{i}] * g.per_M[{term.body}]{of_M};")
            lines.append(f"if (Matrix<R>::EXACT) q.E[{i}] = E;")
            if layout.base[term.body]:
                of_T += f" - {real(layout.base[term.body])} * E * g.fixed_C"
        of_density = self._of_density(derivatives)
        return [
            *lines,
            f"q.qT[{i}] = {of_T};",
            f"if (!Matrix<R>::EXACT) q.qT[{i}] = q.qT[{i}] - g.at_constant_p * ({of_density});",
            *self._of_pressure(derivatives),
        ]

    def _of_density(self, derivatives: Derivatives) -> str:
        """sum_k c_k dq/dc_k - q without third bodies, by which T dq/dT is less at constant
        pressure, where the density falls with T; from the orders where these are whole."""
        signed = zip((1.0, -1.0), self.sides, strict=False)
        whole = [(sign * (s.order - 1.0), s.name) for sign, s in signed if s.order is not None]
        if len(whole) == len(self.sides):
            return total(whole)
        own = sorted({k for side in self.sides for k in side.slopes})
        i, places = self.i, derivatives.places
        products = [(derivatives.sign(i, k), f"q.d[{places[i, k]}] * g.c[{k}]") for k in own]
        return total([*products, (-1.0, f"q.q[{i}]")])

    def _of_pressure(self, derivatives: Derivatives) -> list[str]:
        """What a rate constant that depends on p adds to the exact derivatives. At fixed
        concentrations p is proportional to T."""
        i, rate = self.i, self.rate
        if not rate.of_p:
            return []
        lines = [
            f"q.P[{i}] = q.q[{i}] * {rate.of_C};",
            f"q.qT[{i}] = q.qT[{i}] + q.q[{i}] * {rate.of_p} - q.P[{i}] * g.fixed_C;",
        ]
        for k, of_c in rate.of_c.items():
            place = f"q.d[{derivatives.places[i, k]}]"
            sign = "-" if (i, k) in derivatives.negative else "+"
            before = "" if (i, k) in derivatives.exact else f"{place} {sign} "
            lines.append(f"{place} = {before}q.q[{i}] * {of_c};")
        return ["if (Matrix<R>::EXACT) {", *indented(lines), "}"]


def rates_of_progress(layout: Layout, near: bool, multiplied: bool = False) -> list[Progress]:
    """The reactions of a mechanism, in their order; near: as of `rate_constant`; multiplied: their
    rate constants have factors that are set at run time."""
    pressures, found = Pressures(layout), []
    for i, (term, within) in enumerate(zip(layout.terms, within_float(layout), strict=True)):
        rate = rate_constant(i, layout, pressures, near)
        forward, reverse = _rate_constants(term, rate, within)
        sides = [_side(forward, term.forward, FORWARD)]
        if term.reverse is not None:
            sides.append(_side(reverse, term.reverse, REVERSE))
        factors = "" if term.third_body is None else f" * g.M[{term.third_body}]"
        factors += f" * g.factors[{i}]" * multiplied
        found.append(Progress(i, term, rate, sides, factors))
    return found


def _rate_constants(term: Terms, rate: Rate, within: tuple[bool, bool]) -> tuple[str, str]:
    """The forward and the reverse rate constant, without third body; within: the range of float."""
    ratio = total([(nu, f"g.gibbs[{k}]") for k, nu in term.net.items()])
    logarithms = rate.log2_k, f"{rate.log2_k} + ({ratio})"
    forward, reverse = (
        f"exp2_below(V({log2_k}))" if kept else f"rate_constant<R>(V({log2_k}))"
        for log2_k, kept in zip(logarithms, within, strict=True)
    )
    sign, factor = "-" if term.sign < 0 else "", f" * {rate.r}" if rate.r else ""
    return f"{sign}{rate.k or forward}{factor}", f"{sign}{reverse}{factor}"
