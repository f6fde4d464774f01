// A network in TorchScript as a library of combred.h: LibTorch advances the states by surrogate.pt, and
// libsolver.so those that the network is not trusted with. Both lie beside this library, and are loaded by
// their paths: a process may have other libraries of these names.
//
// LibTorch takes one thread of the caller's, or as many as COMBRED_TORCH_THREADS says.
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <torch/script.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define combred_interface combred_interface_of_header  // ours is below
#include "about.hpp"
#include "environment.hpp"
#undef combred_interface

extern "C" COMBRED_PUBLIC int combred_interface(void);

namespace {

constexpr size_t BATCH = 1024, COLUMNS = 2 + identity::SPECIES;  // rows of a call of LibTorch; of a state
constexpr double DT_ROUNDING = 1e-6;

// LibTorch's threads during a call; those of before come back at the end.
class Threads {
 public:
  Threads() : before_(at::get_num_threads()) {
    const char *asked = std::getenv("COMBRED_TORCH_THREADS");
    at::set_num_threads(std::max(1, asked ? std::atoi(asked) : 1));
  }
  ~Threads() { at::set_num_threads(before_); }

 private:
  int before_;
};

std::string beside(const char *name) {
  Dl_info here;
  if (!dladdr(reinterpret_cast<const void *>(&combred_interface), &here)) return name;
  const std::string path = here.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + name;
}

void *solver() {
  static void *const one = dlopen(beside("libsolver.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  return one;
}

// A function of the solver, of the type of one that combred.h declares.
template <class Function> Function *of_solver(Function *, const char *name) {
  return reinterpret_cast<Function *>(solver() ? dlsym(solver(), name) : nullptr);
}

struct Model {
  torch::jit::Module network;
  decltype(&combred_advance) solve = of_solver(&combred_advance, "combred_advance");

  Model() : network(torch::jit::load(beside(NETWORK_FILE), torch::kCPU)) {
    network.eval();
    if (!network.hasattr("digest") || network.attr("digest").toStringRef() != identity::DIGEST)
      throw std::runtime_error(beside(NETWORK_FILE) + " is not the network of this library: export it again");
    const auto mechanism = of_solver(&combred_mechanism_sha256, "combred_mechanism_sha256");
    if (!solve || !mechanism || std::string(mechanism()) != identity::MECHANISM_SHA256)
      throw std::runtime_error(beside("libsolver.so") + " is not the solver of this library: export it again");
  }

  // States (n, COLUMNS) after dt (n), in place, and their error ratios.
  std::vector<double> step(std::vector<double> &states, std::vector<double> &dt) const {
    const c10::InferenceMode no_gradients;
    const int64_t n = dt.size(), columns = COLUMNS;
    const auto rows = torch::from_blob(states.data(), {n, columns}, torch::kFloat64);
    const auto steps = torch::from_blob(dt.data(), {n}, torch::kFloat64);
    const auto found = network.get_method("next_state_and_error")({rows, steps}).toTuple();
    const auto later = found->elements()[0].toTensor().contiguous();
    const auto error = found->elements()[1].toTensor().contiguous();
    std::copy_n(later.data_ptr<double>(), states.size(), states.begin());
    return std::vector<double>(error.data_ptr<double>(), error.data_ptr<double>() + n);
  }
};

// NULL where it cannot be loaded, which is told once.
const Model *model() {
  static const std::unique_ptr<Model> one = []() -> std::unique_ptr<Model> {
    const Environment environment;
    try {
      return std::make_unique<Model>();
    } catch (const std::exception &error) {
      std::fprintf(stderr, "combred: the network cannot be loaded: %s\n", error.what());
      return nullptr;
    }
  }();
  return one.get();
}

// The rows of a call that the network leaves to the solver; it takes the others.
std::vector<size_t> propose(const Model &model, size_t n, double *states, const double *dt, size_t dt_stride,
                            double tolerance, combred_report &told) {
  std::vector<size_t> rest, rows;
  std::vector<double> batch, steps, error;
  for (size_t i = 0; i < n;) {
    rows.clear();
    batch.clear();
    steps.clear();
    for (; i < n && rows.size() < BATCH; i++) {
      const double one = dt[i * dt_stride];
      if (one < identity::DT_RANGE[0] * (1.0 - DT_ROUNDING) || one > identity::DT_RANGE[1] * (1.0 + DT_ROUNDING)) {
        rest.push_back(i);
        continue;
      }
      rows.push_back(i);
      steps.push_back(one);
      batch.insert(batch.end(), states + i * COLUMNS, states + (i + 1) * COLUMNS);
    }
    try {
      error = model.step(batch, steps);
    } catch (const std::exception &failed) {
      static const int once = std::fprintf(stderr, "combred: LibTorch failed, the solver goes on: %s\n", failed.what());
      (void)once;
      error.assign(rows.size(), __builtin_inf());
    }
    for (size_t j = 0; j < rows.size(); j++) {
      const double ratio = error[j] * identity::TOLERANCE / tolerance;
      if (!(ratio <= 1.0)) {
        rest.push_back(rows[j]);
        continue;
      }
      std::copy_n(batch.begin() + j * COLUMNS, COLUMNS, states + rows[j] * COLUMNS);
      if (told.error) told.error[rows[j]] = ratio;
      if (told.steps) told.steps[rows[j]] = 0;
    }
  }
  return rest;
}

}  // namespace

extern "C" {

int combred_interface(void) { return model() ? COMBRED_INTERFACE : 0; }

// What the solver does alone.
#define OF_SOLVER(type, name, parameters, arguments)          \
  type name parameters {                                      \
    static const auto function = of_solver(&name, #name);     \
    return function ? function arguments : type(COMBRED_NULL); \
  }
OF_SOLVER(size_t, combred_workspace_size, (void), ())
OF_SOLVER(int, combred_advance_with_sources,
          (size_t n, double *states, const double *dt, size_t dt_stride, const double *sources,
           const combred_options *options, combred_report *report, void *workspace, size_t size),
          (n, states, dt, dt_stride, sources, options, report, workspace, size))
OF_SOLVER(int, combred_time_to,
          (size_t n, double *states, const double *dt, size_t dt_stride, const double *T, double *seconds,
           const combred_options *options, combred_report *report, void *workspace, size_t size),
          (n, states, dt, dt_stride, T, seconds, options, report, workspace, size))
OF_SOLVER(int, combred_rates,
          (size_t n, const double *states, double *net, double *destruction, void *workspace, size_t size),
          (n, states, net, destruction, workspace, size))
OF_SOLVER(int, combred_jacobian,
          (const double *state, int reactor, double *jacobian, void *workspace, size_t size),
          (state, reactor, jacobian, workspace, size))
OF_SOLVER(int, combred_time_scale, (size_t n, const double *states, double *seconds, void *workspace, size_t size),
          (n, states, seconds, workspace, size))
OF_SOLVER(int, combred_enthalpy, (size_t n, const double *states, double *h), (n, states, h))
OF_SOLVER(int, combred_temperature, (size_t n, double *states, const double *h), (n, states, h))

int combred_advance(size_t n, double *states, const double *dt, size_t dt_stride, const combred_options *options,
                    combred_report *report, void *workspace, size_t workspace_size) {
  const Model *of = model();
  if (!of) return COMBRED_NULL;
  const combred_options usual = {identity::TOLERANCE, 0, COMBRED_CONSTANT_PRESSURE, nullptr};
  const combred_options chosen = options ? *options : usual;
  combred_report none = {}, &told = report ? *report : none;
  // The solver says what is wrong with the arguments.
  bool alone = n == 0 || !states || !dt || dt_stride > 1 || !workspace ||
               workspace_size < combred_workspace_size() || chosen.reactor != COMBRED_CONSTANT_PRESSURE ||
               !(chosen.tolerance > 0.0 && chosen.tolerance < 1e30) || chosen.max_steps < 0;
  for (size_t i = 0; !alone && i < (dt_stride ? n : 1); i++) alone = !(dt[i] > 0.0 && dt[i] <= 1e30);
  if (alone) return of->solve(n, states, dt, dt_stride, &chosen, report, workspace, workspace_size);
  std::vector<size_t> rest;
  {
    const Environment environment;
    const Threads threads;
    rest = propose(*of, n, states, dt, dt_stride, chosen.tolerance, told);
  }
  told.not_advanced = 0;
  if (rest.empty()) return COMBRED_OK;
  std::vector<double> rows, steps, error(rest.size());
  std::vector<int64_t> count(rest.size());
  for (const size_t i : rest) {
    rows.insert(rows.end(), states + i * COLUMNS, states + (i + 1) * COLUMNS);
    steps.push_back(dt[i * dt_stride]);
  }
  combred_report own = {error.data(), count.data(), 0};
  const int status =
      of->solve(rest.size(), rows.data(), steps.data(), 1, &chosen, &own, workspace, workspace_size);
  for (size_t j = 0; j < rest.size(); j++) {
    std::copy_n(rows.begin() + j * COLUMNS, COLUMNS, states + rest[j] * COLUMNS);
    if (told.error) told.error[rest[j]] = error[j];
    if (told.steps) told.steps[rest[j]] = count[j];
  }
  told.not_advanced = own.not_advanced;
  return status;
}

}  // extern "C"
