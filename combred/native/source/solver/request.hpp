// What a call asks for, which of its rows are next, and what it tells of each.
#pragma once
#include "solver/rows.hpp"
#include "solver/thermo.hpp"

namespace solver {

// The first of the next rows that nobody has taken yet; all threads of a call share it.
#ifdef __CUDACC__
typedef unsigned long long *Rows;
INLINE size_t take(Rows next, size_t rows) { return atomicAdd(next, (unsigned long long)rows); }
#else
typedef size_t *Rows;
INLINE size_t take(Rows next, size_t rows) {
  return __atomic_fetch_add(next, rows, __ATOMIC_RELAXED);
}
#endif

// What a call leaves in its workspace for the next one: the steps that its last ROOM rows took. In a call of as
// many rows those that took most begin first, so that no lane is alone with a long one at the end. Any content
// serves: answers do not depend on the order.
struct Memory {
  static constexpr size_t ROOM = 4096, LEVELS = 256;
  static constexpr uint64_t MARK = 0x6465726275636f6d;
  uint64_t mark;  // MARK where the others are set
  size_t n, first;  // rows of the call; the first of those that are remembered
  uint8_t steps[ROOM];
  uint16_t order[ROOM];
};

// Prepares it for a call of n rows; returns whether their order is known, and matters.
INLINE bool set_order(Memory &memory, size_t n) {
  const bool known = memory.mark == Memory::MARK && memory.n == n;
  const size_t room = n < Memory::ROOM ? n : Memory::ROOM;
  memory.mark = Memory::MARK;
  memory.n = n;
  memory.first = n - room;
  if (!known || n <= size_t(WIDTH<float>)) return false;
  size_t at[Memory::LEVELS + 1] = {};  // where the rows of as many steps begin, by 255 less the steps
  for (size_t i = 0; i < room; i++) at[Memory::LEVELS - memory.steps[i]]++;
  for (size_t j = 1; j < Memory::LEVELS; j++) at[j] += at[j - 1];
  for (size_t i = 0; i < room; i++) memory.order[at[Memory::LEVELS - 1 - memory.steps[i]]++] = uint16_t(i);
  return true;
}

// Rows of states that the network or floats defer to the next integrator.
struct Deferred {
  static constexpr int ROOM = 1024;
  size_t rows[ROOM];
  int size;
};

struct Request {
  size_t n;  // of states, or of `which`
  double *states;
  const double *dt;
  size_t dt_stride;
  double tolerance;
  int64_t max_steps;
  Kind kind;
  double *error;
  int64_t *steps;
  Rows next;
  const size_t *which;  // the rows; NULL: all
  Deferred *deferred;   // for the rows that are; NULL: these have failed
  Rows failed;          // how many rows have; NULL: nobody asks
  Memory *memory;       // NULL: nobody remembers
  bool ordered;         // the rows of all by `memory`
  const double *until;  // a row ends after the step in which its T passes this one; NULL: at dt
  double *time;         // when T passes it; infinite where it does not
  const double *sources;  // rows as those of the states (combred.h); NULL: none
  const double *wall;     // rows of heat transfer and T of a wall (combred.h), with sources; NULL: none
};

// The row that is the next one after i others.
INLINE size_t row_of(const Request &call, size_t i) {
  if (call.which) return call.which[i];
  return call.ordered && i >= call.memory->first ? call.memory->first + call.memory->order[i - call.memory->first] : i;
}

// Asks for the states of up to `count` rows after i others, before they are needed.
INLINE void prefetch(const Request &call, size_t i, size_t count) {
#if COMBRED_BYTES > 0
  for (const size_t end = i + count < call.n ? i + count : call.n; i < end; i++) {
    const double *row = call.states + row_of(call, i) * COLUMNS;
    for (int c = 0; c < COLUMNS; c += 8) __builtin_prefetch(row + c);
  }
#else
  (void)call, (void)i, (void)count;
#endif
}

// Attempts in floats count, too.
INLINE void report(const Request &call, size_t row, double error, int64_t steps) {
  if (call.error) write(call.error + row, error);
  if (call.steps) call.steps[row] = steps + (call.which ? call.steps[row] : 0);
  if (!call.memory || row < call.memory->first) return;
  uint8_t &known = call.memory->steps[row - call.memory->first];
  steps += call.which ? known : 0;
  known = uint8_t(steps < 255 ? steps : 255);
}

// A row that stays as it was.
INLINE void fail(const Request &call, size_t row) {
  if (call.error) write(call.error + row, infinity());
  if (call.failed) take(call.failed, 1);
}

}  // namespace solver
