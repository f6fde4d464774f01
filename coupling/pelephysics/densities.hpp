// Cells of PelePhysics, in its units and unknowns, over a library of combred: partial densities
// rho Y [g/cm3] and, with them, internal energy (PeleC) or enthalpy (PeleLMeX) of a unit of volume,
//
//     d(rho Y_k)/dt = w_k + A_k        d(rho e)/dt = B        or  d(rho h)/dt = B
//
// with sources A [g/(cm3 s)], B [erg/(cm3 s)] that are constant over the time step. Plain C++11,
// without AMReX.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "cells.hpp"

namespace combred {

// A cell as PelePhysics has it. Units: g, cm, erg, s, K.
struct DensityCell {
    double T = 0.0;            // that of its energy; afterwards, that of the new energy
    double energy_source = 0.0;  // B
    std::vector<double> rhoY;    // afterwards the new ones
    std::vector<double> source;  // A
    double steps = 0.0;          // afterwards: those that the solver tried
};

// A library holds density and internal energy, or density and enthalpy, too, but its states are mass
// fractions, and its sources those of a unit of mass. With the density r(t) = r0 + a t,
// a the sum of A, and its logarithmic mean r~ = a dt / ln(r1 / r0), S = A / r~ and Q = B / r~ give
// the elements and the energy of the equations above exactly. With enthalpy the density grows within
// the step; with energy, where its growth would add work, the rates are those of its mean. Both are
// exact to second order in a dt / r0: in steps of equal length in which the density grows little.
class Densities {
public:
    enum class Holds { energy = 1, enthalpy = 2 };  // as `combred_reactor` of combred.h

    // As `Cells`.
    Densities(const std::string& file, const std::vector<std::string>& mixture, Holds holds);

    // As of `Cells`.
    void set_tolerance(double tolerance) { cells_.set_tolerance(tolerance); }
    void compare(std::size_t i, double molar_mass, double cold, double hot) const {
        cells_.compare(i, molar_mass, cold, hot);
    }

    // Advances cells 0 to n - 1 by dt [s]. read(i, cell) fills in T, rhoY, source and
    // energy_source; write(i, cell) takes rhoY, T and steps. Partial densities below zero take no
    // part, and are kept. Throws Refused, with the number of a cell that cannot be advanced.
    template<class Read, class Write>
    Tally advance(std::size_t n, double dt, Read read, Write write);

    // So many cells at least, the last ones apart, are read one after another before one is written.
    static constexpr std::size_t group = 16;

private:
    static constexpr std::size_t block = 4000;  // as of Cells, whole groups
    static double largest_growth() { return 0.01; }  // of density over a step, relative
    static double lowest_Y() { return -1e-3; }  // below, a flow diverges
    static double gas_constant() { return 8314.46261815324; }  // [J/(kmol K)]

    struct Progress {  // of a cell
        double T, density, growth;  // [K]; [g/cm3] at the beginning; a [g/(cm3 s)]
        double done, step;          // [s]
        double steps;
        double at(double time) const { return density + growth * time; }
    };

    double* row(std::vector<double>& of, std::size_t i) { return &of[i * species()]; }
    std::size_t species() const { return per_mass_.size(); }
    static std::size_t block_of(std::size_t n);
    void take(std::size_t i, std::size_t number, double dt);
    void begin(std::size_t i, Cell& cell);
    bool end(std::size_t i, const Cell& cell, double dt);
    double pressure(double T, double density, const double* Y) const;
    void give(std::size_t i, double dt);

    Cells cells_;
    int kind_;
    std::vector<double> per_mass_;  // 1 / molar mass of each species
    DensityCell cell_;
    std::vector<Progress> progress_;
    std::vector<double> given_, Y_, source_, energy_;
    bool sourced_ = false;
};

inline Densities::Densities(
    const std::string& file, const std::vector<std::string>& mixture, Holds holds
) : cells_(file, mixture), kind_(static_cast<int>(holds)), per_mass_(cells_.molar_masses()) {
    for (double& of : per_mass_) of = 1.0 / of;
    cell_.rhoY.resize(species());
    cell_.source.resize(species());
}

// Cells of a block where n are cut into as few and as equal ones as can be: 4096 cells into two of
// 2048, as the library begins with the cells that took most steps only in calls of equal length.
inline std::size_t Densities::block_of(std::size_t n) {
    const std::size_t blocks = std::max<std::size_t>(1, (n + block - 1) / block);
    return ((n + blocks - 1) / blocks + group - 1) / group * group;
}

// Pressure [Pa] of a density [g/cm3].
inline double Densities::pressure(double T, double density, const double* Y) const {
    double moles = 0.0;
    for (std::size_t k = 0; k < species(); ++k) moles += Y[k] * per_mass_[k];
    return 1e3 * density * gas_constant() * T * moles;
}

// Remembers a cell that was read.
inline void Densities::take(std::size_t i, std::size_t number, double dt) {
    double sum = 0.0, positive = 0.0, growth = 0.0, least = 0.0;
    for (std::size_t k = 0; k < species(); ++k) {
        sum += cell_.rhoY[k];
        positive += std::max(cell_.rhoY[k], 0.0);
        least = std::min(least, cell_.rhoY[k]);
        growth += cell_.source[k];
        sourced_ = sourced_ || cell_.source[k] != 0.0;
    }
    sourced_ = sourced_ || cell_.energy_source != 0.0;
    if (!(sum > 0.0 && sum + growth * dt > 0.0 && least >= lowest_Y() * sum)) {
        std::ostringstream why;
        why << "has the density " << sum << " g/cm3, " << sum + growth * dt
            << " after its sources, and the partial density " << least
            << ": the former have to be positive, and the latter at least " << lowest_Y()
            << " of the density.";
        throw Refused(number, why.str());
    }
    std::copy(cell_.rhoY.begin(), cell_.rhoY.end(), row(given_, i));
    std::copy(cell_.source.begin(), cell_.source.end(), row(source_, i));
    energy_[i] = cell_.energy_source;
    const double share = 1.0 / positive;
    for (std::size_t k = 0; k < species(); ++k) {
        row(Y_, i)[k] = std::max(cell_.rhoY[k], 0.0) * share;
    }
    const double steps = std::ceil(std::fabs(growth) * dt / (largest_growth() * sum));
    progress_[i] = Progress{cell_.T, sum, growth, 0.0, dt / std::max(steps, 1.0), 0.0};
}

// The next step of a cell.
inline void Densities::begin(std::size_t i, Cell& cell) {
    const Progress& now = progress_[i];
    const double *Y = row(Y_, i), *source = row(source_, i);
    const double density = now.at(now.done), change = now.growth * now.step / density;
    cell.T = now.T;
    const bool grows = kind_ == static_cast<int>(Holds::enthalpy);
    cell.p = pressure(now.T, density, Y) * (grows ? 1.0 : 1.0 + 0.5 * change);
    cell.r = grows ? 1e3 * now.growth : 0.0;
    cell.dt = now.step;
    std::copy(Y, Y + species(), cell.Y.begin());
    if (!sourced_) return;
    const double mean =
        density * (std::fabs(change) > 1e-8 ? change / std::log1p(change) : 1.0 + 0.5 * change);
    cell.Q = 1e-4 * energy_[i] / mean;  // erg/g are 1e-4 J/kg
    for (std::size_t k = 0; k < species(); ++k) cell.S[k] = source[k] / mean;
}

// Takes the step of a cell. Returns whether it is at dt.
inline bool Densities::end(std::size_t i, const Cell& cell, double dt) {
    Progress& now = progress_[i];
    now.steps += cell.steps;
    for (std::size_t k = 0; k < species(); ++k) row(Y_, i)[k] += cell.dY[k];
    now.T = cell.T_after;
    now.done += now.step;
    return dt - now.done <= 1e-9 * dt;
}

// Sets the cell that is written.
inline void Densities::give(std::size_t i, double dt) {
    const Progress& now = progress_[i];
    const double *given = row(given_, i), *Y = row(Y_, i);
    double positive = 0.0;
    for (std::size_t k = 0; k < species(); ++k) positive += std::max(given[k], 0.0);
    const double share = now.density / positive, density = now.at(dt);
    for (std::size_t k = 0; k < species(); ++k) {
        cell_.rhoY[k] = given[k] + (density * Y[k] - share * std::max(given[k], 0.0));
    }
    cell_.T = now.T;
    cell_.steps = now.steps;
}

template<class Read, class Write>
Tally Densities::advance(std::size_t n, double dt, Read read, Write write) {
    Tally tally;
    std::vector<std::size_t> open, later;
    const std::size_t most = block_of(n);
    progress_.resize(most);
    energy_.resize(most);
    for (auto* of : {&given_, &Y_, &source_}) of->resize(most * species());
    for (std::size_t start = 0; start < n; start += most) {
        const std::size_t rows = std::min(n - start, most);
        sourced_ = false;
        for (std::size_t i = 0; i < rows; ++i) {
            read(start + i, cell_);
            take(i, start + i, dt);
        }
        open.resize(rows);
        std::iota(open.begin(), open.end(), std::size_t(0));
        while (!open.empty()) {
            later.clear();
            try {
                cells_.advance(
                    open.size(), [&](std::size_t j, Cell& cell) { begin(open[j], cell); },
                    [&](std::size_t j, const Cell& cell) {
                        if (!end(open[j], cell, dt)) later.push_back(open[j]);
                        tally.error = std::max(tally.error, cell.error);
                    },
                    Reactor{kind_, sourced_}
                );
            } catch (const Refused& error) {
                throw Refused(start + open[error.cell], error.what());
            }
            open.swap(later);
        }
        for (std::size_t i = 0; i < rows; ++i) {
            give(i, dt);
            write(start + i, cell_);
            tally.solver += 1.0;
            tally.steps += cell_.steps;
            tally.most = std::max(tally.most, cell_.steps);
        }
    }
    return tally;
}

}  // namespace combred
