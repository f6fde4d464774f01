// The library for every x86-64 CPU: it chooses the code for the highest level that the CPU and the
// operating system run, when it is loaded, and for few states another one. The levels are those of the x86-64 psABI.
#pragma once
#include <cpuid.h>

#include <initializer_list>

#include "combred.h"

#define COMBRED_ALL(each, level)                                                      \
  each(level, advance) each(level, advance_with_sources) each(level, time_to)         \
  each(level, rates) each(level, jacobian) each(level, time_scale)                    \
  each(level, enthalpy) each(level, temperature) each(level, workspace_size)
#define COMBRED_DECLARE(level, name) extern "C" decltype(combred_##name) combred_##level##_##name;
#define COMBRED_MEMBER(level, name) decltype(&combred_##name) name;
#define COMBRED_ADDRESS(level, name) , combred_##level##_##name
COMBRED_ALL(COMBRED_DECLARE, v2)
COMBRED_ALL(COMBRED_DECLARE, v3)
COMBRED_ALL(COMBRED_DECLARE, v4)

namespace {

struct Level {
  const char *level;
  COMBRED_ALL(COMBRED_MEMBER, )
};
const Level LEVELS[] = {{"x86-64-v2" COMBRED_ALL(COMBRED_ADDRESS, v2)},
                        {"x86-64-v3" COMBRED_ALL(COMBRED_ADDRESS, v3)},
                        {"x86-64-v4" COMBRED_ALL(COMBRED_ADDRESS, v4)}};

// Registers whose state the operating system keeps: XCR0.
unsigned kept_registers() {
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool has(unsigned word, std::initializer_list<int> bits) {
  for (const int bit : bits)
    if (!(word >> bit & 1)) return false;
  return true;
}

// The index in LEVELS. __builtin_cpu_supports answers 0 with some builds of clang, hence cpuid. Bit
// numbers are those of Intel's manual, volume 2A, CPUID.
int highest_level() {
  unsigned a, b = 0, c = 0, d, b7 = 0, c7, d7, c_extended = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  // FMA, MOVBE, OSXSAVE, AVX, F16C
  if (!has(c, {12, 22, 27, 28, 29})) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7)) return 0;
  __get_cpuid(0x80000001, &a, &b, &c_extended, &d);
  // BMI1, AVX2, BMI2; LZCNT; registers XMM and YMM
  if (!has(b7, {3, 5, 8}) || !has(c_extended, {5}) || !has(kept_registers(), {1, 2})) return 0;
  // AVX512F, DQ, CD, BW, VL; the registers of AVX-512
  if (!has(b7, {16, 17, 28, 30, 31}) || !has(kept_registers(), {5, 6, 7})) return 1;
  return 2;
}

const Level &chosen = LEVELS[highest_level()];

// For so few states AVX2 has lanes enough: a call lasts as long as its slowest state, and CPUs that compute the
// vectors of AVX-512 in halves take 1.4 times as long with them. One state has its reactions in lanes, if its
// matrix may be dense, and without sources. A network has other code for AVX-512.
const Level &level_for([[maybe_unused]] size_t n, [[maybe_unused]] bool sources = false) {
#ifndef COMBRED_NETWORK
#ifdef COMBRED_DENSE
  const size_t alone = sources ? 0 : 1;
#else
  constexpr size_t alone = 0;
#endif
  constexpr size_t FEW = 32;
  if (n > alone && n <= FEW && &chosen == LEVELS + 2) return LEVELS[1];
#endif
  return chosen;
}
// Its workspaces, as many as the caller has of the largest.
size_t room_for(const Level &level, size_t workspace_size) {
  return workspace_size / chosen.workspace_size() * level.workspace_size();
}

}  // namespace

extern "C" {

int combred_advance(size_t n, double *states, const double *dt, size_t dt_stride,
                    const combred_options *options, combred_report *report, void *workspace,
                    size_t workspace_size) {
  const Level &level = level_for(n);
  return level.advance(n, states, dt, dt_stride, options, report, workspace, room_for(level, workspace_size));
}
int combred_advance_with_sources(size_t n, double *states, const double *dt, size_t dt_stride, const double *sources,
                                 const combred_options *options, combred_report *report, void *workspace,
                                 size_t workspace_size) {
  const Level &level = level_for(n, true);
  return level.advance_with_sources(n, states, dt, dt_stride, sources, options, report, workspace,
                                    room_for(level, workspace_size));
}
int combred_time_to(size_t n, double *states, const double *dt, size_t dt_stride, const double *T, double *seconds,
                    const combred_options *options, combred_report *report, void *workspace,
                    size_t workspace_size) {
  const Level &level = level_for(n);
  return level.time_to(n, states, dt, dt_stride, T, seconds, options, report, workspace,
                       room_for(level, workspace_size));
}
int combred_rates(size_t n, const double *states, double *net, double *destruction, void *workspace,
                  size_t workspace_size) {
  return chosen.rates(n, states, net, destruction, workspace, workspace_size);
}
int combred_jacobian(const double *state, int reactor, double *jacobian, void *workspace,
                     size_t workspace_size) {
  return chosen.jacobian(state, reactor, jacobian, workspace, workspace_size);
}
int combred_time_scale(size_t n, const double *states, double *seconds, void *workspace,
                       size_t workspace_size) {
  return chosen.time_scale(n, states, seconds, workspace, workspace_size);
}
int combred_enthalpy(size_t n, const double *states, double *h) {
  return chosen.enthalpy(n, states, h);
}
int combred_temperature(size_t n, double *states, const double *h) {
  return chosen.temperature(n, states, h);
}
size_t combred_workspace_size(void) { return chosen.workspace_size(); }
const char *combred_level(void) { return chosen.level; }

}  // extern "C"
