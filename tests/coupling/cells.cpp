// Cells with the species in another order, for the tests: `cells LIBRARY FILE SPECIES...`.
//
// FILE: doubles, n, then n rows [T, p, Y in the order of SPECIES, dt]. Overwritten with n rows
// [changes of Y, T, steps, error, suggested dt, chemical time scale]. Prints the line of the tally.
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cells.hpp"

namespace {

void require(bool right, const char* what) {
    if (!right) throw std::runtime_error(what);
}

// Outer correctors repeat a time step; another one, or other steps of the cells, are new.
void check_time_steps() {
    combred::TimeSteps steps;
    const auto even = [](std::size_t) { return 1e-6; };
    const auto uneven = [](std::size_t i) { return i == 2 ? 2e-6 : 1e-6; };
    require(!steps.repeated(0, 3, even), "the first call is new");
    require(steps.repeated(0, 3, even) && steps[1] == 1e-6, "the second is a repetition");
    require(!steps.repeated(0, 3, uneven) && steps[2] == 2e-6, "a step of a cell is new");
    require(!steps.repeated(1, 3, uneven), "a time step is new");
    require(!steps.repeated(1, 2, even), "the number of cells is new");
}

// The thermodynamics of the library are accepted, and others of the last species are refused.
void check_thermo(const combred::Cells& cells, const combred::Library& library, std::size_t last,
                  const std::string& name) {
    std::size_t k = 0;
    while (library.species()[k] != name) ++k;
    const combred::Thermo own = library.thermo()[k];
    const double range = own.hot - own.cold;
    cells.compare(last, own.molar_mass * 1.0009, own.cold + 0.009 * range, own.hot);
    const double others[][3] = {{own.molar_mass * 1.0011, own.cold, own.hot},
                                {own.molar_mass, own.cold + 0.011 * range, own.hot},
                                {own.molar_mass, own.cold, own.hot - 0.011 * range}};
    for (const auto& other : others) {
        try {
            cells.compare(last, other[0], other[1], other[2]);
        } catch (const combred::Mismatch& error) {
            if (std::string(error.what()).find("thermodynamics of " + name) != std::string::npos) {
                continue;
            }
        }
        throw std::runtime_error("other thermodynamics are accepted");
    }
}

}  // namespace

int main(int count, char** words) try {
    check_time_steps();
    combred::Cells cells(words[1], std::vector<std::string>(words + 3, words + count));
    check_thermo(cells, combred::Library(words[1]), static_cast<std::size_t>(count - 4),
                 words[count - 1]);
    std::fstream file(words[2], std::ios::in | std::ios::out | std::ios::binary);
    const auto bytes = [](std::size_t n) { return static_cast<std::streamsize>(n * sizeof(double)); };
    double rows = 0.0;
    file.read(reinterpret_cast<char*>(&rows), bytes(1));
    const auto n = static_cast<std::size_t>(rows), species = static_cast<std::size_t>(count - 3);
    std::vector<double> given(n * (species + 3)), seconds(n), found;
    file.read(reinterpret_cast<char*>(given.data()), bytes(given.size()));
    const auto read = [&](std::size_t i, combred::Cell& cell) {
        const double* row = &given[i * (species + 3)];
        cell.T = row[0];
        cell.p = row[1];
        cell.dt = row[2 + species];
        for (std::size_t k = 0; k < species; ++k) cell.Y[k] = row[2 + k];
    };
    cells.time_scale(n, read, [&](std::size_t i, double scale) { seconds[i] = scale; });
    const auto tally = cells.advance(n, read, [&](std::size_t i, const combred::Cell& cell) {
        const double* row = &given[i * (species + 3)];
        for (std::size_t k = 0; k < species; ++k) require(cell.Y[k] == row[2 + k], "Y as read");
        require(cell.T == row[0] && cell.p == row[1], "T and p as read");
        found.insert(found.end(), cell.dY.begin(), cell.dY.end());
        for (double one : {cell.T_after, cell.steps, cell.error, cell.dt_next, seconds[i]}) {
            found.push_back(one);
        }
    });
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(found.data()), bytes(found.size()));
    std::printf("%s\n", tally.line(0.5).c_str());
    const auto twice = [](double one) { return 2.0 * one; };
    const auto same = [](double one) { return one; };
    std::printf("%s\n", tally.over_processes(twice, same, same).line(0.25).c_str());
    return 0;
} catch (const combred::Refused& error) {
    std::fprintf(stderr, "cell %d %s\n", static_cast<int>(error.cell), error.what());
    return 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
}
