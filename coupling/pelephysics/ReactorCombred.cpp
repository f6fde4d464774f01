#include "ReactorCombred.H"

#include <algorithm>

#include <AMReX_OpenMP.H>

namespace pele::physics::reactions {

namespace {

// T [K] of a cell with an energy [erg/cm3], from its own, which is near: Newton's method.
amrex::Real temperature(int type, const combred::DensityCell& cell, amrex::Real energy) {
    constexpr double close = 1e-6;  // K, as in PelePhysics
    constexpr double near = 1e-3;   // K: from there, one iteration is closer than `close`
    constexpr double least = 1e6;   // erg/(g K), below the heat capacity of any gas
    const bool volume = type == ReactorTypes::e_reactor_type;
    auto eos = PhysicsType::eos();
    const amrex::Real* rhoY = cell.rhoY.data();  // for Y: then these are of a unit of volume
    amrex::Real rho = 0.0, T = cell.T;
    for (int k = 0; k < NUM_SPECIES; ++k) rho += rhoY[k];
    for (int i = 0; i < 3; ++i) {
        amrex::Real found, capacity;
        volume ? eos.TY2E(T, rhoY, found) : eos.TY2H(T, rhoY, found);
        if (std::abs(energy - found) < close * least * rho) {
            return T;
        }
        volume ? eos.TY2Cv(T, rhoY, capacity) : eos.TY2Cp(T, rhoY, capacity);
        const amrex::Real change = (energy - found) / capacity;
        T += change;
        if (std::abs(change) < near) {
            return T;
        }
    }
    amrex::Real Y[NUM_SPECIES];
    for (int k = 0; k < NUM_SPECIES; ++k) Y[k] = rhoY[k] / rho;
    volume ? eos.EY2T(energy / rho, Y, T) : eos.HY2T(energy / rho, Y, T);
    return T;
}

// Throws combred::Mismatch if molar masses or enthalpies differ from those of the library.
void compare(const combred::Densities& cells) {
    auto eos = PhysicsType::eos();
    amrex::Real W[NUM_SPECIES], cold[NUM_SPECIES], hot[NUM_SPECIES];
    eos.molecular_weight(W);
    eos.T2Hi(298.15, cold);
    eos.T2Hi(1500.0, hot);
    for (int k = 0; k < NUM_SPECIES; ++k) {
        cells.compare(k, W[k], 1e-4 * cold[k], 1e-4 * hot[k]);
    }
}

} // namespace

int ReactorCombred::init(int reactor_type, int) {
    type_ = reactor_type;
    ReactorTypes::check_reactor_type(type_);
    if (PhysicsType::eos_type::identifier() != "Fuego") {
        amrex::Abort(
            "ReactorCombred is for mixtures of perfect gases: set Eos_Model = Fuego in GNUmakefile");
    }
    std::string file = "libsolver.so";
    double tolerance = 0.0;
    amrex::ParmParse given("combred");
    given.query("library", file);
    amrex::Vector<std::string> names;
    eos::speciesNames<PhysicsType::eos_type>(names);
    using Holds = combred::Densities::Holds;
    const bool energy = type_ == ReactorTypes::e_reactor_type;
    try {
        combred::Densities cells(
            file, {names.begin(), names.end()}, energy ? Holds::energy : Holds::enthalpy);
        if (given.query("tolerance", tolerance)) {
            cells.set_tolerance(tolerance);
        }
        compare(cells);
        cells_.assign(amrex::OpenMP::get_max_threads(), cells);
    } catch (const std::exception& error) {
        amrex::Abort(
            std::string(error.what()) + " `combred export Mechanisms/NAME/mechanism.yaml FOLDER` "
            "writes the library of a mechanism of PelePhysics; combred.library is its file.");
    }
    return 0;
}

template<class Where>
int ReactorCombred::advance(
    std::size_t n, Where place, std::ptrdiff_t stride, std::ptrdiff_t source_stride, Real dt,
    Real& time) {
    const auto thread = static_cast<std::size_t>(amrex::OpenMP::get_thread_num());
    AMREX_ALWAYS_ASSERT_WITH_MESSAGE(
        thread < cells_.size(), "there are more threads than at the init of ReactorCombred");
    // The species of a cell are far apart, and often all in the same lines of the cache: these cells
    // are read, and written, species by species.
    constexpr std::size_t together = combred::Densities::group;
    Place places[together];
    Real rY[together * NUM_SPECIES], source[together * NUM_SPECIES];
    std::size_t first = 0, last = 0;  // those in `places`
    const auto find = [&](std::size_t i) {
        if (i >= first && i < last) {
            return;
        }
        first = i - i % together;
        last = std::min(first + together, n);
        for (std::size_t m = first; m < last; ++m) places[m - first] = place(m);
    };
    combred::Tally tally;
    try {
        tally = cells_[thread].advance(
            n, dt,
            [&](std::size_t i, combred::DensityCell& cell) {
                if (i % together == 0) {
                    find(i);
                    for (int k = 0; k < NUM_SPECIES; ++k) {
                        const auto at = k * stride, source_at = k * source_stride;
                        for (std::size_t m = 0; m < last - first; ++m) {
                            rY[m * NUM_SPECIES + k] = places[m].rY[at];
                            source[m * NUM_SPECIES + k] = places[m].rY_src[source_at];
                        }
                    }
                }
                const Place& at = places[i - first];
                const std::size_t row = (i - first) * NUM_SPECIES;
                std::copy_n(&rY[row], NUM_SPECIES, cell.rhoY.begin());
                std::copy_n(&source[row], NUM_SPECIES, cell.source.begin());
                cell.energy_source = *at.rE_src;
                cell.T = *at.T;
                cell.T = temperature(type_, cell, *at.rE);
            },
            [&](std::size_t i, const combred::DensityCell& cell) {
                find(i);
                const Place& at = places[i - first];
                std::copy_n(cell.rhoY.begin(), NUM_SPECIES, &rY[(i - first) * NUM_SPECIES]);
                *at.rE += dt * *at.rE_src;
                *at.T = temperature(type_, cell, *at.rE);
                if (at.FC) *at.FC = cell.steps;
                if (i + 1 < last) {
                    return;
                }
                for (int k = 0; k < NUM_SPECIES; ++k) {
                    for (std::size_t m = 0; m < last - first; ++m) {
                        places[m].rY[k * stride] = rY[m * NUM_SPECIES + k];
                    }
                }
            });
    } catch (const std::exception& error) {
        amrex::Abort(
            std::string("ReactorCombred: a cell ") + error.what() + " Take a smaller time step.");
    }
#ifdef MOD_REACTOR
    time += dt;
#else
    amrex::ignore_unused(time);
#endif
    return static_cast<int>(tally.steps / std::max(tally.solver, 1.0));
}

int ReactorCombred::react(
    const amrex::Box& box, Field const& rY, Field const& rY_src, Field const& T, Field const& rE,
    Field const& rE_src, Field const& FC, amrex::Array4<int> const& mask, Real& dt, Real& time) {
    std::vector<amrex::Dim3> cells;
    cells.reserve(box.numPts());
    amrex::LoopOnCpu(box, [&](int i, int j, int k) {
        if (mask(i, j, k) != -1) {
            cells.push_back({i, j, k});
        } else {
            FC(i, j, k) = 0.0;
        }
    });
    const auto place = [&](std::size_t n) {
        const auto [i, j, k] = cells[n];
        return Place{&rY(i, j, k), &T(i, j, k), &rE(i, j, k), &rY_src(i, j, k), &rE_src(i, j, k),
                     &FC(i, j, k)};
    };
    return advance(cells.size(), place, rY.nstride, rY_src.nstride, dt, time);
}

int ReactorCombred::react(
    Real* rY, Real* rY_src, Real* rE, Real* rE_src, Real& dt, Real& time, int ncells) {
    const auto place = [=](std::size_t n) {
        Real* own = rY + n * (NUM_SPECIES + 1);
        return Place{own, own + NUM_SPECIES, rE + n, rY_src + n * NUM_SPECIES, rE_src + n,
                     nullptr};
    };
    return advance(ncells, place, 1, 1, dt, time);
}

} // namespace pele::physics::reactions
