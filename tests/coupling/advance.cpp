// Advances states with the C++ class, for the tests: `advance LIBRARY file [tolerance]`.
//
// file: doubles, n, then n states, row after row, then n time steps [s]. Overwritten with the
// states, the errors and the numbers of steps, as doubles. Copies of the class, one for each of two
// threads, have to give the same.
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "library.hpp"

namespace {

void require_the_same_by_two_threads(
    const combred::Library& library, std::vector<double> states, const std::vector<double>& dt,
    const std::vector<double>& known
) {
    const std::size_t n = dt.size(), half = n / 2;
    const auto advance = [&](combred::Library copy, std::size_t first, std::size_t last) {
        if (last > first) {
            copy.advance(&states[first * copy.columns()], last - first, &dt[first]);
        }
    };
    std::thread one(advance, library, 0, half), other(advance, library, half, n);
    one.join();
    other.join();
    if (states != known) throw std::runtime_error("two threads have another answer");
}

}  // namespace

int main(int count, char** words) try {
    combred::Library library(words[1]);
    if (count > 3) library.set_tolerance(std::stod(words[3]));
    std::fstream file(words[2], std::ios::in | std::ios::out | std::ios::binary);
    const auto bytes = [](std::size_t n) { return static_cast<std::streamsize>(n * sizeof(double)); };
    double rows = 0.0;
    file.read(reinterpret_cast<char*>(&rows), bytes(1));
    const auto n = static_cast<std::size_t>(rows);
    std::vector<double> states(n * library.columns()), dt(n);
    file.read(reinterpret_cast<char*>(states.data()), bytes(states.size()));
    file.read(reinterpret_cast<char*>(dt.data()), bytes(n));
    const std::vector<double> before = states;
    const combred::Steps steps = library.advance(states.data(), n, dt.data());
    require_the_same_by_two_threads(library, before, dt, states);
    const std::vector<double> counts(steps.count.begin(), steps.count.end());
    file.seekp(0);
    for (const std::vector<double>& values : {states, steps.error, counts}) {
        file.write(reinterpret_cast<const char*>(values.data()), bytes(values.size()));
    }
    std::printf("%s\n", library.digest().c_str());
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
