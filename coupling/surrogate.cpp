#include "surrogate.hpp"

#include <ATen/Parallel.h>
#include <torch/script.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <sstream>
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

// Throws std::runtime_error with what `module` lacks of a surrogate whose time step is an argument.
void require_surrogate(const torch::jit::Module& module) {
    const auto method = module.find_method("integrate");
    // The first argument is the module.
    const bool integrates = method && method->function().getSchema().arguments().size() == 4;
    std::string missing;
    if (!module.hasattr("species")) missing += " species";
    if (!module.type()->findConstant("TOLERANCE")) missing += " TOLERANCE";
    if (!integrates) missing += " integrate(state, dt, tolerance)";
    if (!missing.empty()) throw std::runtime_error("it lacks" + missing);
}

// The message of an error of LibTorch without its traceback: the first line of an internal error,
// the last of one that the exported code raised.
std::string message(const std::exception& error) {
    std::istringstream lines(error.what());
    std::string line, first, last;
    while (std::getline(lines, line)) {
        if (line.empty()) continue;
        if (first.empty()) first = line;
        last = line;
    }
    if (first.find("TorchScript interpreter") == std::string::npos) return first;
    const std::string type = "Error: ";  // builtins.ValueError: ...
    const auto found = last.find(type);
    return found == std::string::npos ? last : last.substr(found + type.size());
}

void require_time_steps(const double* dt, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        if (!(std::isfinite(dt[i]) && dt[i] > 0.0)) {
            std::ostringstream text;
            text << "dt = " << dt[i] << " s (state " << i << " of " << n
                 << "): a time step has to be positive and finite";
            throw std::invalid_argument(text.str());
        }
    }
}
}  // namespace

struct Surrogate::Implementation {
    torch::jit::Module module;
    std::vector<std::string> species;
    double tolerance;
};

Surrogate::Surrogate(const std::string& file, int threads)
    : implementation_(std::make_unique<Implementation>()) {
    const WithoutTraps without_traps;
    at::set_num_threads(threads);
    try {
        torch::jit::Module loaded = torch::jit::load(file, torch::kCPU);
        loaded.eval();
        require_surrogate(loaded);
        implementation_->tolerance = loaded.type()->getConstant("TOLERANCE").toDouble();
        for (const auto& name : loaded.attr("species").toListRef()) {
            implementation_->species.push_back(name.toStringRef());
        }
        const std::vector<std::string> kept{"integrate"};
        implementation_->module = torch::jit::freeze(loaded, kept);
    } catch (const std::exception& error) {
        throw std::runtime_error(
            file + " is not a surrogate that this version of combred exported: give the "
            "surrogate.pt of a run, made by `python -m combred.pipeline only=export` ("
            + message(error) + ")"
        );
    }
}

Surrogate::Surrogate(Surrogate&&) noexcept = default;

Surrogate::~Surrogate() = default;

const std::vector<std::string>& Surrogate::species() const { return implementation_->species; }

std::size_t Surrogate::columns() const { return 2 + implementation_->species.size(); }

double Surrogate::tolerance() const { return implementation_->tolerance; }

void Surrogate::set_tolerance(double tolerance) {
    if (!(std::isfinite(tolerance) && tolerance > 0.0)) {
        std::ostringstream text;
        text << "a tolerance has to be positive and finite; this one is " << tolerance;
        throw std::invalid_argument(text.str());
    }
    implementation_->tolerance = tolerance;
}

Steps Surrogate::advance(double* states, std::size_t n, double dt) const {
    require_time_steps(&dt, 1);
    return advance(states, n, std::vector<double>(n, dt).data());
}

Steps Surrogate::advance(double* states, std::size_t n, const double* dt) const {
    require_time_steps(dt, n);
    const c10::InferenceMode without_gradient;
    const WithoutTraps without_traps;
    const auto integrate = implementation_->module.get_method("integrate");
    const auto width = static_cast<long>(columns());
    Steps steps{std::vector<double>(n), std::vector<std::int64_t>(n)};
    for (std::size_t first = 0; first < n; first += at_once) {
        const std::size_t count = std::min(at_once, n - first);
        const auto rows = static_cast<long>(count);
        double* begin = states + first * columns();
        // from_blob takes no pointer to const; the method does not write to its arguments.
        std::vector<c10::IValue> arguments{
            torch::from_blob(begin, {rows, width}, torch::kFloat64),
            torch::from_blob(const_cast<double*>(dt) + first, {rows}, torch::kFloat64),
            implementation_->tolerance
        };
        try {
            const auto result = integrate(std::move(arguments)).toTuple();
            const auto copy = [&result](std::size_t i, at::ScalarType type, void* to, long size) {
                const at::Tensor values = result->elements().at(i).toTensor().to(type).contiguous();
                TORCH_CHECK(values.numel() == size, "a result of another size");
                std::memcpy(to, values.const_data_ptr(), values.nbytes());
            };
            copy(0, torch::kFloat64, begin, rows * width);
            copy(1, torch::kFloat64, steps.error.data() + first, rows);
            copy(2, torch::kInt64, steps.count.data() + first, rows);
        } catch (const std::exception& error) {
            throw std::runtime_error("the surrogate refused the call: " + message(error));
        }
    }
    return steps;
}

}  // namespace combred
