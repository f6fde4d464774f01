#include "surrogate.hpp"

#include <ATen/Parallel.h>
#include <torch/script.h>

#include <algorithm>
#include <cfenv>
#include <cstring>
#include <stdexcept>

namespace combred {

namespace {
// States of a call of LibTorch: intermediate results of more would not fit into the cache.
constexpr std::size_t at_once = 4096;

// A solver that traps floating-point exceptions, as OpenFOAM does, would stop in vectorised
// functions of LibTorch, which overflow in branches that are not taken.
class WithoutTraps {
public:
    WithoutTraps() { std::feholdexcept(&before_); }
    ~WithoutTraps() { std::fesetenv(&before_); }

private:
    std::fenv_t before_;
};
}  // namespace

struct Surrogate::Implementation {
    torch::jit::Module module;
    std::vector<std::string> species;
    double dt;
};

Surrogate::Surrogate(const std::string& file, int threads)
    : implementation_(std::make_unique<Implementation>()) {
    const WithoutTraps without_traps;
    at::set_num_threads(threads);
    try {
        torch::jit::Module loaded = torch::jit::load(file, torch::kCPU);
        loaded.eval();
        implementation_->dt = loaded.attr("dt").toDouble();
        for (const auto& name : loaded.attr("species").toListRef()) {
            implementation_->species.push_back(name.toStringRef());
        }
        const std::vector<std::string> kept{"next_state_and_error"};
        implementation_->module = torch::jit::freeze(loaded, kept);
    } catch (const std::exception& error) {
        const std::string what = error.what();  // a backtrace may follow its first line
        throw std::runtime_error(
            file + " is not a surrogate that combred exported: give the surrogate.pt of a run, "
            "made by `python -m combred.pipeline only=export` (" + what.substr(0, what.find('\n')) + ")"
        );
    }
}

Surrogate::Surrogate(Surrogate&&) noexcept = default;

Surrogate::~Surrogate() = default;

const std::vector<std::string>& Surrogate::species() const { return implementation_->species; }

double Surrogate::dt() const { return implementation_->dt; }

std::size_t Surrogate::columns() const { return 2 + implementation_->species.size(); }

void Surrogate::advance(double* states, std::size_t n, double* closure_error) const {
    const c10::InferenceMode without_gradient;
    const WithoutTraps without_traps;
    const auto width = static_cast<long>(columns());
    for (std::size_t first = 0; first < n; first += at_once) {
        const std::size_t count = std::min(at_once, n - first);
        double* rows = states + first * columns();
        const at::Tensor before =
            torch::from_blob(rows, {static_cast<long>(count), width}, torch::kFloat64);
        if (closure_error == nullptr) {
            const at::Tensor later = implementation_->module.forward({before}).toTensor();
            std::memcpy(rows, later.const_data_ptr<double>(), count * columns() * sizeof(double));
        } else {
            const auto method = implementation_->module.get_method("next_state_and_error");
            const auto result = method({before}).toTuple();
            const at::Tensor later = result->elements()[0].toTensor();
            const at::Tensor error = result->elements()[1].toTensor();
            std::memcpy(rows, later.const_data_ptr<double>(), count * columns() * sizeof(double));
            std::memcpy(
                closure_error + first, error.const_data_ptr<double>(), count * sizeof(double)
            );
        }
    }
}

}  // namespace combred
