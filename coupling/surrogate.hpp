// A surrogate that combred exported (surrogate.pt), for C++. Nothing of LibTorch is seen from here.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace combred {

class Surrogate {
public:
    // Loads `file`; `threads` of LibTorch in this process (a solver parallel over MPI wants one).
    // Throws std::runtime_error where the file is none that combred exported.
    explicit Surrogate(const std::string& file, int threads = 1);
    Surrogate(Surrogate&&) noexcept;
    ~Surrogate();

    // Names in the order of the mass fractions.
    const std::vector<std::string>& species() const;

    // The step over which a call advances a state [s].
    double dt() const;

    // Columns of a state: T [K], p [Pa] and the mass fractions.
    std::size_t columns() const;

    // Advances `n` states, row after row, by dt: adiabatic, p constant. In `closure_error` (n), where given:
    // how much each answer is to be doubted. It is usable up to 1.
    void advance(double* states, std::size_t n, double* doubt = nullptr) const;

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace combred
