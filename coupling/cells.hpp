// Cells of a flow code that a library of combred advances: species of a mixture matched by name,
// thermodynamics compared, cells handed over in blocks, changes of their mass fractions. What the
// chemistry solvers of all flow codes share; C++11, no header of a flow code is needed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "library.hpp"

namespace combred {

// A cell at the beginning of its time step, which the flow code fills in, and its change over dt.
struct Cell {
    double T = 0.0, p = 0.0, dt = 0.0;  // [K], [Pa], [s]
    std::vector<double> Y;              // mass fractions in the order of the mixture
    double Q = 0.0;        // [W/kg], of `Reactor::sources`: energy that comes to a unit of mass
    double r = 0.0;        // r of combred.h: growth of the density [kg/(m3 s)] or pressure [Pa/s]
    std::vector<double> S;  // [1/s], mass of each species that does
    std::vector<double> dY;  // their changes, whose sum is zero: Y is normalised, negative Y are 0
    double T_after = 0.0;    // [K]
    double steps = 0.0;      // that the solver tried; 0 where the network's step was taken
    double error = 0.0;      // largest error estimate of a step over the tolerance, at most 1
    double dt_next = 0.0;    // [s], suggested
};

// How cells are advanced: in which `combred_reactor` of combred.h; with sources that are constant
// over dt, as of combred_advance_with_sources, by the solver alone.
struct Reactor {
    int kind;
    bool sources;
};

// What a call did, over all cells.
struct Tally {
    double network = 0.0, solver = 0.0;  // cells
    double steps = 0.0, most = 0.0;      // of the solver: their sum, the most in a cell
    double error = 0.0;                  // the largest error ratio
    double dt_next = 1e30;               // [s], the shortest suggested

    void add(const Cell& cell) {
        (cell.steps > 0.0 ? solver : network) += 1.0;
        steps += cell.steps;
        most = std::max(most, cell.steps);
        error = std::max(error, cell.error);
        dt_next = std::min(dt_next, cell.dt_next);
    }

    // The tally of all processes, from functions that give the sum, largest and smallest value.
    template<class Sum, class Largest, class Smallest>
    Tally over_processes(Sum sum, Largest largest, Smallest smallest) const {
        Tally all;
        all.network = sum(network);
        all.solver = sum(solver);
        all.steps = sum(steps);
        all.most = largest(most);
        all.error = largest(error);
        all.dt_next = smallest(dt_next);
        return all;
    }

    // A line for the log, with the CPU time [s] of the call.
    std::string line(double seconds) const {
        std::ostringstream text;
        text << "combred: " << std::llround(network + solver) << " cells, " << std::llround(network)
             << " by the network, " << std::llround(solver) << " by the solver, "
             << steps / std::max(network + solver, 1.0) << " steps a cell, at most "
             << std::llround(most) << ", " << seconds << " s of CPU time, error ratio at most "
             << error;
        return text.str();
    }
};

// A cell that cannot be advanced: what() begins with the reason and has its state.
class Refused : public std::runtime_error {
public:
    Refused(std::size_t at, const std::string& why) : std::runtime_error(why), cell(at) {}
    std::size_t cell;  // the number that was given to `read`
};

// Species or thermodynamics of the flow code that are not those of the library.
struct Mismatch : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// Names as OpenFOAM prints a list.
inline std::string listed(const std::vector<std::string>& names) {
    std::string text = std::to_string(names.size()) + "(";
    for (const auto& name : names) text += (&name == &names.front() ? "" : " ") + name;
    return text + ")";
}

// Whether a call is for the time step and the steps dt of the cells of the call before: outer
// correctors of a flow keep the source of a time step, which is that of the state at its beginning.
class TimeSteps {
public:
    template<class DeltaT> bool repeated(long index, std::size_t n, const DeltaT& dt) {
        bool same = index == index_ && dt_.size() == n;
        index_ = index;
        dt_.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            const double now = dt(i);
            same = same && dt_[i] == now;
            dt_[i] = now;
        }
        return same;
    }
    double operator[](std::size_t i) const { return dt_[i]; }

private:
    long index_ = -1;
    std::vector<double> dt_;
};

class Cells {
public:
    // Loads the library of a file, for a mixture of species with these names in any order. Throws
    // as Library, and Mismatch.
    Cells(const std::string& file, const std::vector<std::string>& mixture)
        : library_(file), mixture_(mixture) {
        match();
    }

    // As of Library.
    void set_tolerance(double tolerance) { library_.set_tolerance(tolerance); }

    // Throws Mismatch unless the molar mass [kg/kmol] and the enthalpies [J/kg] at
    // 298.15 and 1500 K of species i of the mixture are those of the library.
    void compare(std::size_t i, double molar_mass, double cold, double hot) const;

    // Advances cells 0 to n - 1, each over its dt. read(i, cell) fills in T, p, dt and Y; write(i,
    // cell) takes the change. With sources, read fills in Q and S, too. Throws Refused.
    template<class Read, class Write>
    Tally advance(std::size_t n, Read read, Write write, Reactor reactor = {false, false});

    // Of the species of the mixture [kg/kmol].
    std::vector<double> molar_masses() const;

    // Chemical time scales [s] as of `Library::time_scale`: write(i, seconds). Throws Refused.
    template<class Read, class Write> void time_scale(std::size_t n, Read read, Write write);

private:
    // The states of a block stay in the cache (7 % of the chemistry's time at 16,384 cells), and
    // the memory is bounded.
    static constexpr std::size_t block = 4000;
    // In a suggested time step the solver takes so many steps, T changes by so much [K], and dt
    // grows by this factor at most.
    static double few_steps() { return 4.0; }
    static double small_rise() { return 20.0; }
    static double growth() { return 2.0; }

    std::size_t species() const { return specie_.size(); }
    void match();
    template<class Read>
    void read_block(std::size_t start, std::size_t rows, Read read, bool sources = false);
    void find_change(std::size_t row, double steps, double error);
    Refused refusal(std::size_t start, std::size_t row, const std::string& why) const;

    Library library_;
    std::vector<std::string> mixture_;
    std::vector<std::size_t> specie_;  // index in the mixture of each species of the library
    std::vector<double> states_, before_, dt_, sources_;
    Cell cell_;
};

inline void Cells::match() {
    const auto& ours = library_.species();
    std::vector<std::string> missing, surplus;
    for (const auto& name : ours) {
        const auto at = std::find(mixture_.begin(), mixture_.end(), name);
        if (at == mixture_.end()) missing.push_back(name);
        specie_.push_back(static_cast<std::size_t>(at - mixture_.begin()));
    }
    for (const auto& name : mixture_) {
        if (std::find(ours.begin(), ours.end(), name) == ours.end()) surplus.push_back(name);
    }
    if (!missing.empty() || !surplus.empty()) {
        std::string text;
        if (!missing.empty()) text = "The mixture lacks the species " + listed(missing) + " of the library. ";
        if (!surplus.empty()) text += "The library has no " + listed(surplus) + ". ";
        throw Mismatch(
            text + "Use one mechanism for both. A species that takes part in no reaction, as a "
            "tracer or argon, belongs into the mechanism, too: its heat capacity changes T."
        );
    }
    cell_.Y.resize(species());
    cell_.dY.resize(species());
    cell_.S.resize(species());
}

inline std::vector<double> Cells::molar_masses() const {
    std::vector<double> found(species());
    for (std::size_t k = 0; k < species(); ++k) {
        found[specie_[k]] = library_.thermo()[k].molar_mass;
    }
    return found;
}

inline void Cells::compare(std::size_t i, double molar_mass, double cold, double hot) const {
    const auto at = std::find(specie_.begin(), specie_.end(), i) - specie_.begin();
    const Thermo& own = library_.thermo()[static_cast<std::size_t>(at)];
    const double range = std::fabs(own.hot - own.cold);
    if (std::fabs(molar_mass - own.molar_mass) <= 1e-3 * own.molar_mass
        && std::fabs(cold - own.cold) <= 0.01 * range && std::fabs(hot - own.hot) <= 0.01 * range) {
        return;
    }
    std::ostringstream text;
    text << "Case and library differ in the thermodynamics of " << mixture_[i] << ": molar mass "
         << molar_mass << " and " << own.molar_mass << " kg/kmol, enthalpy " << cold << " and "
         << own.cold << " J/kg at 298.15 K, " << hot << " and " << own.hot << " J/kg at 1500 K.";
    throw Mismatch(text.str());
}

template<class Read>
void Cells::read_block(std::size_t start, std::size_t rows, Read read, bool sources) {
    const std::size_t width = library_.columns();
    states_.resize(rows * width);
    sources_.resize(sources ? rows * width : 0);
    dt_.resize(rows);
    for (std::size_t row = 0; row < rows; ++row) {
        double* state = &states_[row * width];
        read(start + row, cell_);
        state[0] = cell_.T;
        state[1] = cell_.p;
        for (std::size_t k = 0; k < species(); ++k) state[2 + k] = cell_.Y[specie_[k]];
        dt_[row] = cell_.dt;
        if (!sources) continue;
        double* of = &sources_[row * width];
        of[0] = cell_.Q;
        of[1] = cell_.r;
        for (std::size_t k = 0; k < species(); ++k) of[2 + k] = cell_.S[specie_[k]];
    }
    before_ = states_;
}

inline void Cells::find_change(std::size_t row, double steps, double error) {
    const double* state = &states_[row * library_.columns()];
    const double* before = &before_[row * library_.columns()];
    double total = 0.0;  // of the cell, which the library has normalised
    for (std::size_t k = 0; k < species(); ++k) total += std::max(before[2 + k], 0.0);
    for (std::size_t k = 0; k < species(); ++k) {
        cell_.Y[specie_[k]] = before[2 + k];
        cell_.dY[specie_[k]] = total * state[2 + k] - std::max(before[2 + k], 0.0);
    }
    cell_.T = before[0];
    cell_.p = before[1];
    cell_.dt = dt_[row];
    cell_.T_after = state[0];
    cell_.steps = steps;
    cell_.error = error;
    const double rise = std::max(std::fabs(state[0] - before[0]), 1e-300);
    const double factor = std::min(few_steps() / std::max(steps, 1.0), small_rise() / rise);
    cell_.dt_next = std::min(factor, growth()) * dt_[row];
}

template<class Read, class Write>
Tally Cells::advance(std::size_t n, Read read, Write write, Reactor reactor) {
    Tally tally;
    for (std::size_t start = 0; start < n; start += block) {
        const std::size_t rows = n - start < block ? n - start : block;
        read_block(start, rows, read, reactor.sources);
        const Steps steps = library_.advance(
            states_.data(), rows, dt_.data(), reactor.kind,
            reactor.sources ? sources_.data() : nullptr
        );
        for (std::size_t row = 0; row < rows; ++row) {
            if (std::isinf(steps.error[row])) {
                std::ostringstream why;
                why << "cannot be advanced over " << dt_[row] << " s";
                throw refusal(start, row, why.str());
            }
            find_change(row, static_cast<double>(steps.count[row]), steps.error[row]);
            tally.add(cell_);
            write(start + row, cell_);
        }
    }
    return tally;
}

template<class Read, class Write>
void Cells::time_scale(std::size_t n, Read read, Write write) {
    for (std::size_t start = 0; start < n; start += block) {
        const std::size_t rows = n - start < block ? n - start : block;
        read_block(start, rows, read);
        const std::vector<double> seconds = library_.time_scale(states_.data(), rows);
        for (std::size_t row = 0; row < rows; ++row) {
            if (std::isnan(seconds[row])) throw refusal(start, row, "has no valid state");
            write(start + row, seconds[row]);
        }
    }
}

inline Refused Cells::refusal(std::size_t start, std::size_t row, const std::string& why) const {
    const double* state = &before_[row * library_.columns()];
    const double* Y = state + 2;
    std::vector<std::size_t> order(species());
    std::iota(order.begin(), order.end(), std::size_t(0));
    const auto size = [Y](std::size_t k) { return std::isnan(Y[k]) ? HUGE_VAL : std::fabs(Y[k]); };
    std::sort(order.begin(), order.end(), [size](std::size_t a, std::size_t b) {
        return size(a) > size(b);
    });
    std::ostringstream text;
    text << why << ": T = " << state[0] << " K, p = " << state[1]
         << " Pa, sum Y = " << std::accumulate(Y, Y + species(), 0.0);
    for (std::size_t k = 0; k < std::min<std::size_t>(6, species()); ++k) {
        text << ", " << library_.species()[order[k]] << " " << Y[order[k]];
    }
    text << "\nThe library takes T from 100 to 6000 K, p > 0, Y > -1e-6 and sum Y from 0.999 to "
            "1.001.";
    return Refused(start + row, text.str());
}

}  // namespace combred
