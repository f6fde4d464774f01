// A surrogate that combred exported (surrogate.pt), for C++. This header does not include LibTorch.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace combred {

class Surrogate {
public:
    // Loads `file`. `threads`: threads of LibTorch in this process; with MPI, use one per process.
    // Throws std::runtime_error if combred has not exported the file.
    explicit Surrogate(const std::string& file, int threads = 1);
    Surrogate(Surrogate&&) noexcept;
    ~Surrogate();

    // Names of the species in the order of the mass fractions.
    const std::vector<std::string>& species() const;

    // Time step [s] by which a call advances a state.
    double dt() const;

    // Number of columns of a state: T [K], p [Pa] and the mass fractions.
    std::size_t columns() const;

    // Advances `n` states, stored row after row, by dt at constant pressure and enthalpy. Writes
    // the error estimate of each prediction to `closure_error` (n) if it is given: up to 1 the
    // prediction may be used, above it integrate the state instead.
    void advance(double* states, std::size_t n, double* closure_error = nullptr) const;

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace combred
