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
    // Largest error estimate of a step, in units of the tolerance. Above 1 the smallest step did
    // not reach the tolerance, or the state is not valid (infinity): integrate this state instead.
    std::vector<double> error;
    // Evaluations of the network: the steps that were taken, and those that were repeated in
    // smaller ones.
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

    // Number of columns of a state: T [K], p [Pa] and the mass fractions.
    std::size_t columns() const;

    // Bound of the error estimate of a step, relative to its change: the surrogate's default, until
    // another is set. `set_tolerance` throws std::invalid_argument unless it is positive and finite.
    double tolerance() const;
    void set_tolerance(double tolerance);

    // Advances `n` states, stored row after row, by `dt` [s] at constant pressure and enthalpy: one
    // dt for all states, or an array with one for each. Each dt is divided into as many steps as
    // the tolerance needs. Throws std::invalid_argument, before any state is changed, unless every
    // dt is positive and finite; std::runtime_error if the surrogate refuses the call, as a network
    // of one fixed dt does with another.
    Steps advance(double* states, std::size_t n, double dt) const;
    Steps advance(double* states, std::size_t n, const double* dt) const;

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace combred
