// Cells of given density for the tests: `densities LIBRARY FILE HOLDS TOLERANCE SPECIES...`.
//
// FILE: doubles, n, dt, then n rows [T, rho Y, A, B], in g, cm, erg and s. Overwritten with n rows
// [T, rho Y, steps]. HOLDS: energy or enthalpy. TOLERANCE: 0 for that of the library.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "pelephysics/densities.hpp"

int main(int count, char** words) try {
    using combred::Densities;
    const bool energy = std::string(words[3]) == "energy";
    Densities cells(words[1], std::vector<std::string>(words + 5, words + count),
                    energy ? Densities::Holds::energy : Densities::Holds::enthalpy);
    if (std::stod(words[4]) > 0.0) cells.set_tolerance(std::stod(words[4]));
    std::fstream file(words[2], std::ios::in | std::ios::out | std::ios::binary);
    const auto bytes = [](std::size_t n) { return static_cast<std::streamsize>(n * sizeof(double)); };
    double head[2] = {};
    file.read(reinterpret_cast<char*>(head), bytes(2));
    const auto n = static_cast<std::size_t>(head[0]), species = static_cast<std::size_t>(count - 5);
    std::vector<double> given(n * (2 * species + 2)), found;
    file.read(reinterpret_cast<char*>(given.data()), bytes(given.size()));
    cells.advance(
        n, head[1],
        [&](std::size_t i, combred::DensityCell& cell) {
            const double* row = &given[i * (2 * species + 2)];
            cell.T = row[0];
            cell.rhoY.assign(row + 1, row + 1 + species);
            cell.source.assign(row + 1 + species, row + 1 + 2 * species);
            cell.energy_source = row[1 + 2 * species];
        },
        [&](std::size_t, const combred::DensityCell& cell) {
            found.push_back(cell.T);
            found.insert(found.end(), cell.rhoY.begin(), cell.rhoY.end());
            found.push_back(cell.steps);
        }
    );
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(found.data()), bytes(found.size()));
    return 0;
} catch (const combred::Refused& error) {
    std::fprintf(stderr, "cell %d %s\n", static_cast<int>(error.cell), error.what());
    return 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
}
