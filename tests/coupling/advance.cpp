// Advances states with the C++ class, for the tests: `advance surrogate.pt file [tolerance]`.
//
// file: doubles, n, then n states, row after row, then n time steps [s]. Overwritten with the
// states, the errors and the numbers of steps, as doubles.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "surrogate.hpp"

int main(int count, char** words) try {
    combred::Surrogate surrogate(words[1]);
    if (count > 3) surrogate.set_tolerance(std::stod(words[3]));
    std::fstream file(words[2], std::ios::in | std::ios::out | std::ios::binary);
    const auto bytes = [](std::size_t n) { return static_cast<std::streamsize>(n * sizeof(double)); };
    double rows = 0.0;
    file.read(reinterpret_cast<char*>(&rows), bytes(1));
    const auto n = static_cast<std::size_t>(rows);
    std::vector<double> states(n * surrogate.columns()), dt(n);
    file.read(reinterpret_cast<char*>(states.data()), bytes(states.size()));
    file.read(reinterpret_cast<char*>(dt.data()), bytes(n));
    const combred::Steps steps = surrogate.advance(states.data(), n, dt.data());
    const std::vector<double> counts(steps.count.begin(), steps.count.end());
    file.seekp(0);
    for (const std::vector<double>& values : {states, steps.error, counts}) {
        file.write(reinterpret_cast<const char*>(values.data()), bytes(values.size()));
    }
    std::printf("%g\n", surrogate.tolerance());
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
