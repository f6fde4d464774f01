// Computes one ignition with an exported surrogate, and measures its time per state.
//
//     ignite surrogate.pt T p steps NAME=Y [NAME=Y ...]
//
// T [K], p [Pa] and the mass fractions that are not zero. Prints time [s], T [K] and closure error
// after every step, then, as comments, the ignition delay (steepest rise of T) and the time per
// state.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "../surrogate.hpp"

namespace {

std::vector<double> initial_state(const combred::Surrogate& surrogate, int n, char** words) {
    std::vector<double> state(surrogate.columns(), 0.0);
    state[0] = std::stod(words[2]);
    state[1] = std::stod(words[3]);
    for (int i = 5; i < n; ++i) {
        const std::string word = words[i];
        const auto equals = word.find('=');
        std::size_t k = 0;
        while (k < surrogate.species().size() && surrogate.species()[k] != word.substr(0, equals)) {
            ++k;
        }
        if (equals == std::string::npos || k == surrogate.species().size()) {
            std::string names;
            for (const auto& name : surrogate.species()) names += " " + name;
            throw std::runtime_error(
                word + " is not NAME=Y with a species of the surrogate; its species are" + names
            );
        }
        state[2 + k] = std::stod(word.substr(equals + 1));
    }
    return state;
}

// Median time per state [s] of calls with the states of the ignition as one batch.
double seconds_per_state(const combred::Surrogate& surrogate, const std::vector<double>& path) {
    const std::size_t rows = path.size() / surrogate.columns();
    std::vector<double> taken;
    for (int repeat = 0; repeat < 10; ++repeat) {
        std::vector<double> batch = path;
        const auto begun = std::chrono::steady_clock::now();
        surrogate.advance(batch.data(), rows);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
        if (repeat >= 3) taken.push_back(seconds.count() / rows);  // the first ones compile
    }
    std::nth_element(taken.begin(), taken.begin() + taken.size() / 2, taken.end());
    return taken[taken.size() / 2];
}

}  // namespace

int main(int n, char** words) try {
    if (n < 6) {
        std::fprintf(stderr, "usage: ignite surrogate.pt T p steps NAME=Y [NAME=Y ...]\n");
        return 2;
    }
    const combred::Surrogate surrogate(words[1]);
    std::vector<double> state = initial_state(surrogate, n, words), path;
    double closure_error = 0.0, steepest = 0.0, delay = 0.0;
    std::printf("0 %.10g 0\n", state[0]);
    for (int step = 1; step <= std::stoi(words[4]); ++step) {
        path.insert(path.end(), state.begin(), state.end());
        const double before = state[0];
        surrogate.advance(state.data(), 1, &closure_error);
        std::printf("%.10g %.10g %.6g\n", step * surrogate.dt(), state[0], closure_error);
        if (state[0] - before > steepest) {
            steepest = state[0] - before;
            delay = (step - 0.5) * surrogate.dt();
        }
    }
    std::printf("# delay %.6g s\n", delay);
    std::printf("# time per state %.4g us, batch %zu, one thread\n",
                1e6 * seconds_per_state(surrogate, path), path.size() / surrogate.columns());
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
