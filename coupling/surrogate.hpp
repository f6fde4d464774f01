// A surrogate that combred exported (surrogate.pt), for C++. This header does not include LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace combred {

// The steps into which a call divided the time step of each state.
struct Steps {
    // Error estimate in units of the tolerance. Above 1 the smallest step did not reach the
    // tolerance, or the state is not valid (infinity): integrate this state instead.
    std::vector<double> error;
    std::vector<std::int64_t> count;
};

class Surrogate {
public:
    // Loads `file`. `threads`: threads of LibTorch in this process; with MPI, use one per process.
    // Throws std::runtime_error if the file is not a surrogate that this version of combred
    // exported.
    explicit Surrogate(const std::string& file, int threads = 1);
    Surrogate(Surrogate&&) noexcept;
    ~Surrogate();

    // Names of the species in the order of the mass fractions.
    const std::vector<std::string>& species() const;

    // Range of dt [s] of one step; equal for a network that has one fixed dt. `advance` takes any
    // dt and divides it, as far as the surrogate can: a fixed dt has to divide it.
    double dt_low() const;
    double dt_high() const;

    // Number of columns of a state: T [K], p [Pa] and the mass fractions.
    std::size_t columns() const;

    // Sets the tolerance of the error estimate, instead of the surrogate's own. Throws
    // std::invalid_argument unless it is positive and finite.
    void set_tolerance(double tolerance);

    // Advances `n` states, stored row after row, by `dt` [s] at constant pressure and enthalpy: one
    // dt for all states, or an array with one for each. Throws std::invalid_argument, before any
    // state is changed, unless every dt is positive and finite; std::runtime_error if the surrogate
    // refuses the call.
    Steps advance(double* states, std::size_t n, double dt) const;
    Steps advance(double* states, std::size_t n, const double* dt) const;

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace combred
