// Computes one ignition with a solver or a surrogate, and measures its time per state.
//
//     g++ -O2 coupling/ignite.cpp -o ignite -ldl
//     ./ignite LIBRARY T p dt calls NAME=Y [NAME=Y ...]
//
// LIBRARY: libsolver.so or libsurrogate.so. T [K], p [Pa], the time step dt [s] of a call, and the
// mass fractions that are not zero. Prints time [s], T [K], error ratio and number of steps of the
// solver (0: the network's step) after every call, then, as comments, the ignition delay (steepest
// rise of T), and the mean number of steps and the time per state.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

#include "library.hpp"
#include "words.hpp"

namespace {

constexpr int first_species = 6;  // index of the first NAME=Y among the words

// Median time per state [s] of calls with the states of the ignition as one batch.
double seconds_per_state(
    combred::Library& library, const std::vector<double>& path, double dt
) {
    const std::size_t rows = path.size() / library.columns();
    std::vector<double> taken;
    for (int repeat = 0; repeat < 10; ++repeat) {
        std::vector<double> batch = path;
        const auto begun = std::chrono::steady_clock::now();
        library.advance(batch.data(), rows, dt);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
        if (repeat < 3) continue;  // the first ones fill the caches
        taken.push_back(seconds.count() / static_cast<double>(rows));
    }
    std::nth_element(taken.begin(), taken.begin() + taken.size() / 2, taken.end());
    return taken[taken.size() / 2];
}

}  // namespace

int main(int n, char** words) try {
    if (n <= first_species) {
        std::fprintf(stderr, "usage: ignite LIBRARY T p dt calls NAME=Y [NAME=Y ...]\n");
        return 2;
    }
    combred::Library library(words[1]);
    std::vector<double> path, state = combred::initial_state(
        library.species(), words[2], words[3], words + first_species, words + n
    );
    const double dt = combred::time_step(words[4]);
    const int calls = combred::call_count(words[5]);
    double steepest = 0.0, delay = 0.0, steps = 0.0;
    std::printf("0 %.10g 0 0\n", state[0]);
    for (int call = 1; call <= calls; ++call) {
        path.insert(path.end(), state.begin(), state.end());
        const double before = state[0];
        const combred::Steps taken = library.advance(state.data(), 1, dt);
        if (!(taken.error[0] <= 1.0)) {
            throw std::runtime_error("the state cannot be advanced: T in K, p in Pa, sum Y = 1");
        }
        steps += static_cast<double>(taken.count[0]);
        std::printf("%.10g %.10g %.6g %lld\n", call * dt, state[0], taken.error[0],
                    static_cast<long long>(taken.count[0]));
        if (state[0] - before > steepest) {
            steepest = state[0] - before;
            delay = (call - 0.5) * dt;
        }
    }
    std::printf("# delay %.6g s\n", delay);
    if (calls > 0) {
        std::printf("# steps per call %.4g, time per state %.4g us, batch %d, one thread\n",
                    steps / calls, 1e6 * seconds_per_state(library, path, dt), calls);
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
