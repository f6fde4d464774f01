// Words of a command line of the examples: numbers, and an initial state.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace combred {

// The number that a word is, as a whole. Throws std::runtime_error with what it stands for.
inline double number(const std::string& word, const std::string& meaning) {
    std::size_t read = 0;
    double value = 0.0;
    try {
        value = std::stod(word, &read);
    } catch (const std::exception&) {  // its message, "stod", says nothing
    }
    if (read == 0 || read != word.size()) {
        throw std::runtime_error("'" + word + "' is not a number: it stands for " + meaning);
    }
    return value;
}

// The time step [s] that a word is.
inline double time_step(const std::string& word) {
    const double dt = number(word, "the time step dt [s]");
    if (std::isfinite(dt) && dt > 0.0) return dt;
    throw std::runtime_error("dt = " + word + " s: a time step has to be positive and finite");
}

// The number of calls that a word is.
inline int call_count(const std::string& word) {
    const double calls = number(word, "the number of calls");
    if (calls >= 0.0 && calls <= 1e9 && calls == std::floor(calls)) return static_cast<int>(calls);
    throw std::runtime_error(word + " calls: a whole number from 0 to 1e9 is expected");
}

// A state [T, p, Y] of the words T, p and, from `first` to `last`, NAME=Y.
inline std::vector<double> initial_state(
    const std::vector<std::string>& species, const std::string& T, const std::string& p,
    const char* const* first, const char* const* last
) {
    std::vector<double> state(2 + species.size(), 0.0);
    state[0] = number(T, "T [K]");
    state[1] = number(p, "p [Pa]");
    for (; first != last; ++first) {
        const std::string word = *first;
        const auto equals = word.find('=');
        const auto at = std::find(species.begin(), species.end(), word.substr(0, equals));
        if (equals == std::string::npos || at == species.end()) {
            std::string names;
            for (const auto& name : species) names += " " + name;
            throw std::runtime_error(
                word + " is not NAME=Y with a species of the library; its species are" + names
            );
        }
        state[2 + static_cast<std::size_t>(at - species.begin())] =
            number(word.substr(equals + 1), "a mass fraction");
    }
    return state;
}

}  // namespace combred
