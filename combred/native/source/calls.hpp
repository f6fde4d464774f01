// The functions of combred.h that compute: they are compiled for one CPU, or for several levels.
#pragma once
#include "environment.hpp"
#include "solver/alone.hpp"
#include "solver/source_terms.hpp"
#ifdef _OPENMP
#include <omp.h>
#endif

#define COMBRED_HIDDEN __attribute__((visibility("hidden")))
// Advance the states that nobody has taken yet; the workspace is aligned.
COMBRED_HIDDEN void combred_in_floats(void *workspace, const solver::Request &call);
COMBRED_HIDDEN void combred_in_doubles(void *workspace, const solver::Request &call);
COMBRED_HIDDEN void combred_by_network(void *workspace, const solver::Request &call);
COMBRED_HIDDEN size_t combred_network_size(void);  // bytes of its workspace

namespace {

typedef solver::Solver<float, solver::Shampine> FloatSolver;
typedef solver::Solver<double, solver::Rodas5P> DoubleSolver;
#ifdef COMBRED_ONE_STATE
typedef solver::Alone<solver::Shampine> OneSolver;
#else
typedef FloatSolver OneSolver;
#endif
// With sources, which are larger.
typedef solver::Solver<float, solver::Sourced<solver::Shampine>> SourcedFloats;
typedef solver::Solver<double, solver::Sourced<solver::Rodas5P>> SourcedDoubles;

// What a `combred_reactor` keeps.
inline solver::Kind kind_of(int64_t reactor) {
  return {reactor != COMBRED_CONSTANT_PRESSURE && reactor != COMBRED_ISOTHERMAL_PRESSURE,
          reactor == COMBRED_CONSTANT_DENSITY_ENTHALPY, reactor >= COMBRED_ISOTHERMAL_PRESSURE};
}

constexpr size_t ALIGNMENT = 64;
inline void *aligned(void *workspace) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(workspace);
  return reinterpret_cast<void *>((at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

#if COMBRED_PIECE & COMBRED_CALLS
// Bytes of a workspace: rows that the network and the floats defer, the largest of those that compute, and what
// the next call may know.
constexpr size_t OF_ROWS = (sizeof(solver::Deferred) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
inline size_t working() {
  size_t most = sizeof(SourcedFloats) > sizeof(SourcedDoubles) ? sizeof(SourcedFloats) : sizeof(SourcedDoubles);
  if (sizeof(OneSolver) > most) most = sizeof(OneSolver);
#ifdef COMBRED_NETWORK
  if (combred_network_size() > most) most = combred_network_size();
#endif
  return 2 * OF_ROWS + (most + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}
inline size_t needed() { return working() + sizeof(solver::Memory) + ALIGNMENT; }

// Rows by `first`, and those that it defers by `then`, until none is there; `deferred` has room for the
// latter.
template <class First, class Then>
inline void in_turn(solver::Request call, solver::Deferred &deferred, First first, Then then) {
  call.deferred = &deferred;
  do {
    deferred.size = 0;
    first(call);
    size_t next = 0;
    solver::Request rest = call;
    rest.n = deferred.size;
    rest.which = deferred.rows;
    rest.deferred = nullptr;
    rest.next = &next;
    if (deferred.size > 0) then(rest);
  } while (__atomic_load_n(call.next, __ATOMIC_RELAXED) < call.n);
}

// At a tolerance of .3 at most: beyond, steps mean nothing. A larger one asks for the network's steps,
// and the solver takes those that cannot be closed.
inline void solve(char *at, solver::Request call) {
  call.tolerance = call.tolerance < 0.3 ? call.tolerance : 0.3;
  char *room = at + OF_ROWS;
  const auto doubles = [room](const solver::Request &rows) { combred_in_doubles(room, rows); };
  if (call.tolerance < solver::LEAST_FLOAT_TOLERANCE) return doubles(call);
  const auto floats = [room](const solver::Request &rows) { combred_in_floats(room, rows); };
  // In doubles max_steps counts from zero again.
  in_turn(call, *reinterpret_cast<solver::Deferred *>(at), floats, doubles);
}

void run(void *workspace, const solver::Request &call) {
  const Environment environment;
  char *at = static_cast<char *>(aligned(workspace)), *room = at + OF_ROWS;
#ifdef COMBRED_NETWORK
  if (!call.kind.volume && !call.kind.isothermal && !call.until && !call.sources)
    return in_turn(
        call, *reinterpret_cast<solver::Deferred *>(at),
        [room](const solver::Request &rows) { combred_by_network(room + OF_ROWS, rows); },
        [room](const solver::Request &rows) { solve(room, rows); });
#endif
  solve(room, call);
}
#endif

}  // namespace

#if defined(COMBRED_NETWORK) && COMBRED_PIECE & COMBRED_PROPOSAL
#include "network/propose.hpp"
void combred_by_network(void *workspace, const solver::Request &call) {
  network::propose(*static_cast<network::Step *>(workspace), call);
}
size_t combred_network_size(void) { return sizeof(network::Step); }
#endif
#if COMBRED_PIECE & COMBRED_FLOATS
void combred_in_floats(void *workspace, const solver::Request &call) {
  if (call.sources) solver::integrate(*static_cast<SourcedFloats *>(workspace), call);
#ifdef COMBRED_ONE_STATE
  else if (call.n == 1 && !call.which) solver::alone(*static_cast<OneSolver *>(workspace), call);
#endif
  else solver::integrate(*static_cast<FloatSolver *>(workspace), call);
}
#endif
#if COMBRED_PIECE & COMBRED_DOUBLES
void combred_in_doubles(void *workspace, const solver::Request &call) {
  if (call.sources) solver::integrate(*static_cast<SourcedDoubles *>(workspace), call);
  else solver::integrate(*static_cast<DoubleSolver *>(workspace), call);
}

extern "C" {

int combred_rates(size_t n, const double *states, double *net, double *destruction, void *workspace,
                  size_t workspace_size) {
  if (n == 0) return COMBRED_OK;
  if (!states || !net || !destruction || !workspace) return COMBRED_NULL;
  if (workspace_size < combred_workspace_size()) return COMBRED_WORKSPACE;
  const Environment environment;
  solver::rates(static_cast<DoubleSolver *>(aligned(workspace))->s.w, n, states, net, destruction);
  return COMBRED_OK;
}

int combred_time_scale(size_t n, const double *states, double *seconds, void *workspace,
                       size_t workspace_size) {
  if (n == 0) return COMBRED_OK;
  if (!states || !seconds || !workspace) return COMBRED_NULL;
  if (workspace_size < combred_workspace_size()) return COMBRED_WORKSPACE;
  const Environment environment;
  solver::time_scales(static_cast<DoubleSolver *>(aligned(workspace))->s.w, n, states, seconds);
  return COMBRED_OK;
}

int combred_enthalpy(size_t n, const double *states, double *h) {
  if (n == 0) return COMBRED_OK;
  if (!states || !h) return COMBRED_NULL;
  const Environment environment;
  solver::enthalpies(n, states, h);
  return COMBRED_OK;
}

int combred_temperature(size_t n, double *states, const double *h) {
  if (n == 0) return COMBRED_OK;
  if (!states || !h) return COMBRED_NULL;
  const Environment environment;
  return solver::temperatures(n, h, states) ? COMBRED_NOT_ADVANCED : COMBRED_OK;
}

int combred_jacobian(const double *state, int reactor, double *jacobian, void *workspace,
                     size_t workspace_size) {
  if (!state || !jacobian || !workspace) return COMBRED_NULL;
  if (reactor < 0 || reactor > COMBRED_ISOTHERMAL_VOLUME) return COMBRED_OPTIONS;
  if (workspace_size < combred_workspace_size()) return COMBRED_WORKSPACE;
  const Environment environment;
  solver::jacobian(static_cast<DoubleSolver *>(aligned(workspace))->s.w, state, kind_of(reactor), jacobian);
  return COMBRED_OK;
}

}  // extern "C"
#endif

#if COMBRED_PIECE & COMBRED_CALLS
// COMBRED_OK, or what is wrong with the arguments of combred_advance.
static int checked(size_t n, const double *states, const double *dt, size_t dt_stride,
                   const combred_options &chosen, const void *workspace, size_t workspace_size) {
  if (!(chosen.tolerance > 0.0) || chosen.tolerance > solver::LARGEST_TOLERANCE || chosen.max_steps < 0 ||
      chosen.reactor < 0 || chosen.reactor > COMBRED_ISOTHERMAL_VOLUME)
    return COMBRED_OPTIONS;
  if (dt_stride > 1) return COMBRED_STRIDE;
  if (n == 0) return COMBRED_OK;
  if (!states || !dt || !workspace) return COMBRED_NULL;
  if (workspace_size < needed()) return COMBRED_WORKSPACE;
  for (size_t i = 0; i < (dt_stride ? n : 1); i++) {
    const double one = solver::read<double>(dt + i);
    if (!(one > 0.0) || one > solver::LONGEST_DT) return COMBRED_DT;
  }
  return COMBRED_OK;
}

// As combred_time_to or combred_advance_with_sources; pointers of which a function knows nothing are NULL. given:
// those that it needs are not.
static int integrated(bool given, size_t n, double *states, const double *dt, size_t dt_stride, const double *until, double *time,
                      const double *sources, const combred_options *options, combred_report *report,
                      void *workspace, size_t workspace_size) {
  const combred_options usual = {identity::TOLERANCE, 0, COMBRED_CONSTANT_PRESSURE, nullptr};
  const combred_options chosen = options ? *options : usual;
  combred_report none = {}, &told = report ? *report : none;
  told.not_advanced = 0;
  if (n > 0 && !given) return COMBRED_NULL;
  if (chosen.wall && !sources) return COMBRED_OPTIONS;
  fenv_t caller;
  feholdexcept(&caller);  // comparisons with NaN may trap
  const int status = checked(n, states, dt, dt_stride, chosen, workspace, workspace_size);
  fesetenv(&caller);
  if (status != COMBRED_OK || n == 0) return status;
  size_t next = 0;
  solver::Memory &memory = *reinterpret_cast<solver::Memory *>(static_cast<char *>(aligned(workspace)) + working());
  const bool ordered = solver::set_order(memory, n);
  const solver::Request call = {n, states, dt, dt_stride, chosen.tolerance, chosen.max_steps,
                                kind_of(chosen.reactor), told.error, told.steps,
                                &next, nullptr, nullptr, &told.not_advanced, &memory, ordered, until, time, sources, chosen.wall};
#ifdef _OPENMP
  const size_t bytes = needed(), room = workspace_size / bytes, most = omp_get_max_threads();
#pragma omp parallel num_threads((int)(room < most ? room : most))
  run((char *)workspace + omp_get_thread_num() * bytes, call);
#else
  run(workspace, call);
#endif
  return told.not_advanced ? COMBRED_NOT_ADVANCED : COMBRED_OK;
}

extern "C" {

int combred_advance(size_t n, double *states, const double *dt, size_t dt_stride,
                    const combred_options *options, combred_report *report, void *workspace,
                    size_t workspace_size) {
  return integrated(true, n, states, dt, dt_stride, nullptr, nullptr, nullptr, options, report, workspace,
                    workspace_size);
}

int combred_advance_with_sources(size_t n, double *states, const double *dt, size_t dt_stride, const double *sources,
                                 const combred_options *options, combred_report *report, void *workspace,
                                 size_t workspace_size) {
  return integrated(sources, n, states, dt, dt_stride, nullptr, nullptr, sources, options, report, workspace,
                    workspace_size);
}

int combred_time_to(size_t n, double *states, const double *dt, size_t dt_stride, const double *T, double *seconds,
                    const combred_options *options, combred_report *report, void *workspace,
                    size_t workspace_size) {
  return integrated(T && seconds, n, states, dt, dt_stride, T, seconds, nullptr, options, report, workspace,
                    workspace_size);
}

#ifdef COMBRED_MULTIPLIERS
// Sets the factors (LISTED) of the rate constants for the calls of this thread.
COMBRED_PUBLIC void combred_multiply(const double *factors) {
  for (int i = 0; i < solver::REACTIONS; i++) {
    solver::MULTIPLIERS<double>[i] = factors[solver::PLACE[i]];
    solver::MULTIPLIERS<float>[i] = (float)factors[solver::PLACE[i]];
  }
}
#endif

size_t combred_workspace_size(void) { return needed(); }

}  // extern "C"
#endif
