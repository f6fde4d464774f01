// Computes one ignition with surrogate.pt in LibTorch; the solver takes the steps that the network is
// not trusted with.
//
//     TORCH=$(python -c 'import torch; print(torch.__path__[0])')
//     g++ -std=c++20 -O1 -I $TORCH/include coupling/torch.cpp -o torch -L $TORCH/lib \
//         -Wl,-rpath,$TORCH/lib -ltorch -ltorch_cpu -lc10 -ldl
//     ./torch surrogate.pt libsolver.so T p dt calls NAME=Y [NAME=Y ...]
//
// T [K], p [Pa], the time step dt [s] of a call, and the mass fractions that are not zero. Prints time
// [s], T [K] and the error ratio of the network after every call, then, as a comment, how many calls the
// solver took.
#include <torch/script.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "library.hpp"
#include "words.hpp"

namespace {

constexpr int first_species = 7;  // index of the first NAME=Y among the words

// The order of the species, which both files have to share.
std::vector<std::string> species_of(const torch::jit::Module& network) {
    std::vector<std::string> names;
    for (const auto& name : network.attr("species").toListRef()) names.push_back(name.toStringRef());
    return names;
}

}  // namespace

int main(int n, char** words) try {
    if (n <= first_species) {
        std::fprintf(stderr, "usage: torch PT LIBRARY T p dt calls NAME=Y [NAME=Y ...]\n");
        return 2;
    }
    torch::NoGradGuard without_gradients;
    torch::jit::Module network = torch::jit::load(words[1]);
    combred::Library solver(words[2]);
    const std::vector<std::string> species = species_of(network);
    if (species != solver.species()) {
        throw std::runtime_error("network and solver are of other mechanisms: export them from one");
    }
    std::vector<double> state =
        combred::initial_state(species, words[3], words[4], words + first_species, words + n);
    const auto columns = static_cast<std::int64_t>(state.size());
    const double dt = combred::time_step(words[5]);
    const int calls = combred::call_count(words[6]);
    const auto call_network = network.get_method("next_state_and_error");
    int solved = 0;
    for (int call = 1; call <= calls; ++call) {
        // One state here; a flow code gives a batch of cells, and the rows above 1 to the solver.
        const auto rows = torch::from_blob(state.data(), {1, columns}, torch::kFloat64).clone();
        const auto found = call_network({rows, torch::full({1}, dt, torch::kFloat64)}).toTuple();
        const double error = found->elements()[1].toTensor().item<double>();
        if (error <= 1.0) {
            const auto later = found->elements()[0].toTensor().contiguous();
            std::copy_n(later.data_ptr<double>(), columns, state.begin());
        } else {
            if (!(solver.advance(state.data(), 1, dt).error[0] <= 1.0)) {
                throw std::runtime_error("no valid state: T in K, p in Pa, sum Y = 1");
            }
            ++solved;
        }
        std::printf("%.10g %.10g %.6g\n", call * dt, state[0], error);
    }
    std::printf("# by the solver: %d of %d calls\n", solved, calls);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
