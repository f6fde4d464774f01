#include "ReactorCombred.H"

#include <AMReX_OpenMP.H>

namespace pele::physics::reactions {

namespace {

// T [K] of a cell with an energy [erg/cm3], from its own, which is near: Newton's method.
amrex::Real temperature(int type, const combred::DensityCell& cell, amrex::Real energy) {
    constexpr double close = 1e-6;  // K, as in PelePhysics
    const bool volume = type == ReactorTypes::e_reactor_type;
    auto eos = PhysicsType::eos();
    amrex::Real rho = 0.0, T = cell.T, Y[NUM_SPECIES];
    for (const double of : cell.rhoY) rho += of;
    for (int k = 0; k < NUM_SPECIES; ++k) Y[k] = cell.rhoY[k] / rho;
    energy /= rho;
    for (int i = 0; i < 3; ++i) {
        amrex::Real found, capacity;
        if (volume) {
            eos.TY2E(T, Y, found);
            eos.TY2Cv(T, Y, capacity);
        } else {
            eos.TY2H(T, Y, found);
            eos.TY2Cp(T, Y, capacity);
        }
        const amrex::Real change = (energy - found) / capacity;
        T += change;
        if (std::abs(change) < close) {
            return T;
        }
    }
    if (volume) {
        eos.EY2T(energy, Y, T);
    } else {
        eos.HY2T(energy, Y, T);
    }
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
int ReactorCombred::advance(std::size_t n, Where place, Real dt, Real& time) {
    const auto thread = static_cast<std::size_t>(amrex::OpenMP::get_thread_num());
    AMREX_ALWAYS_ASSERT_WITH_MESSAGE(
        thread < cells_.size(), "there are more threads than at the init of ReactorCombred");
    combred::Tally tally;
    try {
        tally = cells_[thread].advance(
            n, dt,
            [&](std::size_t i, combred::DensityCell& cell) {
                const Place at = place(i);
                cell.energy_source = *at.rE_src;
                for (int k = 0; k < NUM_SPECIES; ++k) {
                    cell.rhoY[k] = at.rY[k * at.stride];
                    cell.source[k] = at.rY_src[k * at.source_stride];
                }
                cell.T = *at.T;
                cell.T = temperature(type_, cell, *at.rE);
            },
            [&](std::size_t i, const combred::DensityCell& cell) {
                const Place at = place(i);
                for (int k = 0; k < NUM_SPECIES; ++k) at.rY[k * at.stride] = cell.rhoY[k];
                *at.rE += dt * *at.rE_src;
                *at.T = temperature(type_, cell, *at.rE);
                if (at.FC) *at.FC = cell.steps;
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
                     rY.nstride, rY_src.nstride, &FC(i, j, k)};
    };
    return advance(cells.size(), place, dt, time);
}

int ReactorCombred::react(
    Real* rY, Real* rY_src, Real* rE, Real* rE_src, Real& dt, Real& time, int ncells) {
    const auto place = [=](std::size_t n) {
        Real* own = rY + n * (NUM_SPECIES + 1);
        return Place{own, own + NUM_SPECIES, rE + n, rY_src + n * NUM_SPECIES, rE_src + n,
                     1, 1, nullptr};
    };
    return advance(ncells, place, dt, time);
}

} // namespace pele::physics::reactions
