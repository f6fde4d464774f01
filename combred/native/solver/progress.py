"""The rates of progress of a mechanism as C++: each reaction is an object, which is printed once.

Takes a `Layout`; gives the statements of each reaction. Two printers: `statements`, with the
derivatives, is that of the solver; `constants` and `of_constants`, without them, are those of a
quasi-steady step, which keeps the rate constants. The expressions of both rate constants are made
in one place, `_rate_constants`: a factor on a reaction, set at run time, belongs there. Rates of
progress and all derivatives, which have it as they have the third body, then follow.
"""

from dataclasses import dataclass

from combred.native.arrays import comment
from combred.native.solver.layout import Derivatives, Layout, Terms
from combred.native.solver.polynomials import RateLimits
from combred.native.solver.pressure_tables import Pressures
from combred.native.solver.rate import Rate
from combred.native.solver.rate_constants import rate_constant
from combred.native.solver.terms import indented, real, total


@dataclass(frozen=True, eq=False)
class Side:
    """The forward (F) or the reverse (B) rate of progress of a reaction.

    value: the expression of `name`; slopes: that of `name`_k by species k, of which d `name` / dc_k
    is the multiple in `multiples`; last: the species whose slope `value` takes, or None; order: the
    sum of the orders where these are whole, else None.
    """

    name: str
    value: str
    slopes: dict[int, str]
    multiples: dict[int, int]
    last: int | None
    order: float | None

    def statements(self, derivatives: bool = True) -> list[str]:
        """Those that set the rate, and its slopes."""
        value = f"const V {self.name} = {self.value};"
        slopes = [
            f"const V {self.name}_{k} = {slope};"
            for k, slope in self.slopes.items()
            if derivatives or k == self.last
        ]
        return [value, *slopes] if self.last is None else [*slopes, value]

    def derivative(self, k: int) -> str:
        """That by a concentration."""
        multiple = self.multiples[k]
        return f"{real(multiple)} * " * (multiple > 1) + f"{self.name}_{k}"


def _side(name: str, constant: str, orders: dict[int, float]) -> Side:
    """Each factor is taken by itself: a product of two small concentrations alone may underflow."""
    if not all(order > 0.5 and abs(order - round(order)) < 1e-9 for order in orders.values()):
        powers = {k: f"power_of<R>(g.c[{k}], {real(order)})" for k, order in orders.items()}
        slopes = {k: f"power_slope<R>(g.c[{k}], {real(order)})" for k, order in orders.items()}
        products = {k: " * ".join([constant, *(powers | {k: slopes[k]}).values()]) for k in orders}
        value = " * ".join([constant, *powers.values()])
        return Side(name, value, products, dict.fromkeys(orders, 1), None, None)
    flat = [k for k, order in sorted(orders.items()) for _ in range(round(order))]
    products = {}
    for k in flat:
        rest = list(flat)
        rest.remove(k)
        products[k] = constant + "".join(f" * g.c[{other}]" for other in rest)
    last = flat[-1] if flat else None
    value = f"{name}_{last} * g.c[{last}]" if flat else constant
    multiples = {k: flat.count(k) for k in flat}
    return Side(name, value, products, multiples, last, sum(orders.values()))


@dataclass(frozen=True, eq=False)
class Progress:
    """Reaction i. kf, kr: expressions of its rate constants without third body; body: the factor
    [M] of both, or empty; reverse: None of an irreversible reaction."""

    i: int
    term: Terms
    rate: Rate
    kf: str
    kr: str
    body: str
    forward: Side
    reverse: Side | None

    def constants(self) -> list[str]:
        """The statements that set the rate constants in Constants k."""
        back = [f"k.reverse[{self.i}] = {self.kr};"] if self.reverse else []
        lines = [*self.rate.setup, f"k.forward[{self.i}] = {self.kf};", *back]
        return ["{", *indented(lines), "}"]

    def of_constants(self) -> list[str]:
        """The statements that set the rates of progress, of Constants k."""
        lines = [f"const V kf = k.forward[{self.i}]{self.body};", *self.forward.statements(False)]
        if self.reverse:
            lines.append(f"const V kr = k.reverse[{self.i}]{self.body};")
            lines += self.reverse.statements(False)
        lines += [self._net(), f"q.F[{self.i}] = F; q.B[{self.i}] = {self._B()};"]
        return [self._title(), *indented(lines), "}"]

    def statements(self, layout: Layout, derivatives: Derivatives) -> list[str]:
        """The statements that set its places of Progress q."""
        lines = [*self.rate.setup, f"const V kf = {self.kf}{self.body};"]
        lines += [f"const V kr = {self.kr}{self.body};"] if self.reverse else []
        lines += self.forward.statements()
        lines += self.reverse.statements() if self.reverse else []
        inner = self._derivatives(layout, derivatives)
        lines += [self._net(), "if (D) {", *indented(inner), "}"]
        return [self._title(), *indented(lines), "}"]

    def _title(self) -> str:
        return f"{{  // {self.term.reaction.index + 1}: {comment(self.term.reaction.equation)}"

    def _net(self) -> str:
        return f"q.q[{self.i}] = F{' - B' if self.reverse else ''};"

    def _B(self) -> str:
        return "B" if self.reverse else "V{}"

    def _derivatives(self, layout: Layout, derivatives: Derivatives) -> list[str]:
        """The statements that set d, qT, F, B, E and P."""
        i, term, rate = self.i, self.term, self.rate
        sides = [side for side in (self.forward, self.reverse) if side]
        lines = [f"if (Matrix<R>::EXACT) {{ q.F[{i}] = F; q.B[{i}] = {self._B()}; }}"]
        for k in sorted({k for side in sides for k in side.slopes}):
            found = " - ".join(side.derivative(k) for side in sides if k in side.slopes)
            lines.append(f"q.d[{derivatives.places[i, k]}] = {found};")
        of_T = f"F * {rate.d}"
        if self.reverse:
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
        sides = [side for side in (self.forward, self.reverse) if side]
        signs = {"F": 1.0, "B": -1.0}
        whole = [(signs[s.name] * (s.order - 1.0), s.name) for s in sides if s.order is not None]
        if len(whole) == len(sides):
            return total(whole)
        own = sorted({k for side in sides for k in side.slopes})
        products = [(1.0, f"q.d[{derivatives.places[self.i, k]}] * g.c[{k}]") for k in own]
        return total([*products, (-1.0, f"q.q[{self.i}]")])

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


def rates_of_progress(layout: Layout, near: bool) -> list[Progress]:
    """The reactions of a mechanism, in their order; near: as of `rate_constant`."""
    limits, pressures, found = RateLimits(layout), Pressures(layout), []
    for i, term in enumerate(layout.terms):
        rate = rate_constant(i, layout, pressures, near)
        body = "" if term.third_body is None else f" * g.M[{term.third_body}]"
        reverse = None if term.reverse is None else _side("B", "kr", term.reverse)
        kf, kr = _rate_constants(term, rate, limits)
        forward = _side("F", "kf", term.forward)
        found.append(Progress(i, term, rate, kf, kr, body, forward, reverse))
    return found


def _rate_constants(term: Terms, rate: Rate, limits: RateLimits) -> tuple[str, str]:
    """The forward and the reverse rate constant, without third body."""
    forward, reverse = (
        "exp2(V" if kept else "rate_constant<R>(V" for kept in limits.are_kept(term)
    )
    ratio = total([(nu, f"g.gibbs[{k}]") for k, nu in term.net.items()])
    sign, factor = "-" if term.sign < 0 else "", f" * {rate.r}" if rate.r else ""
    kf = rate.k or f"{forward}({rate.log2_k}))"
    kr = f"{reverse}({rate.log2_k} + ({ratio})))"
    return f"{sign}{kf}{factor}", f"{sign}{kr}{factor}"
