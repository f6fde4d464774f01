// Numbers with derivatives, for forward-mode automatic differentiation.
//
// A Dual<N> is a value and its derivatives in N directions. A function that is written for any
// number type, as the generated rates are, gives its exact Jacobian matrix when it is called with
// duals: no difference quotient, and one logarithm or exponential for all directions together.
#pragma once

#include <cmath>

template <int N>
struct Dual {
    double value = 0.0;
    double slope[N] = {};

    Dual() = default;
    Dual(double value) : value(value) {}

    // The result of a function of this number: f(value), and f'(value) by the chain rule.
    Dual chain(double f, double derivative) const
    {
        Dual out(f);
        for (int i = 0; i < N; ++i) out.slope[i] = derivative * slope[i];
        return out;
    }

    Dual operator-() const { return chain(-value, -1.0); }
    Dual operator+() const { return *this; }

    friend Dual operator+(const Dual& a, const Dual& b)
    {
        Dual out(a.value + b.value);
        for (int i = 0; i < N; ++i) out.slope[i] = a.slope[i] + b.slope[i];
        return out;
    }
    friend Dual operator-(const Dual& a, const Dual& b)
    {
        Dual out(a.value - b.value);
        for (int i = 0; i < N; ++i) out.slope[i] = a.slope[i] - b.slope[i];
        return out;
    }
    friend Dual operator*(const Dual& a, const Dual& b)
    {
        Dual out(a.value * b.value);
        for (int i = 0; i < N; ++i) out.slope[i] = a.slope[i] * b.value + a.value * b.slope[i];
        return out;
    }
    friend Dual operator/(const Dual& a, const Dual& b)
    {
        const double inverse = 1.0 / b.value, quotient = a.value * inverse;
        Dual out(quotient);
        for (int i = 0; i < N; ++i) out.slope[i] = (a.slope[i] - quotient * b.slope[i]) * inverse;
        return out;
    }
    // With a plain number: its derivative is zero, and is not computed.
    friend Dual operator+(const Dual& a, double b)
    {
        Dual out(a);
        out.value += b;
        return out;
    }
    friend Dual operator+(double a, const Dual& b) { return b + a; }
    friend Dual operator-(const Dual& a, double b) { return a + (-b); }
    friend Dual operator-(double a, const Dual& b) { return b.chain(a - b.value, -1.0); }
    friend Dual operator*(const Dual& a, double b) { return a.chain(a.value * b, b); }
    friend Dual operator*(double a, const Dual& b) { return b * a; }
    friend Dual operator/(const Dual& a, double b) { return a * (1.0 / b); }
    friend Dual operator/(double a, const Dual& b)
    {
        const double quotient = a / b.value;
        return b.chain(quotient, -quotient / b.value);
    }

    Dual& operator+=(const Dual& other) { return *this = *this + other; }
    Dual& operator*=(const Dual& other) { return *this = *this * other; }

    friend bool operator>(const Dual& a, double b) { return a.value > b; }

    friend Dual exp(const Dual& a)
    {
        const double e = std::exp(a.value);
        return a.chain(e, e);
    }
    friend Dual log(const Dual& a) { return a.chain(std::log(a.value), 1.0 / a.value); }
    friend Dual log10(const Dual& a)
    {
        return a.chain(std::log10(a.value), 0.43429448190325183 / a.value);  // 1 / ln 10
    }
    friend Dual pow(const Dual& a, double exponent)
    {
        const double power = std::pow(a.value, exponent);
        return a.chain(power, exponent * power / a.value);
    }
    friend Dual pow(double base, const Dual& a)
    {
        const double power = std::pow(base, a.value);
        return a.chain(power, std::log(base) * power);
    }
};
