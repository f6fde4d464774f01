// A library that combred exported, a stiff solver (libsolver.so) or a surrogate, a network with the
// solver behind it (libsurrogate.so), for C++11. This header needs no other file; link with -ldl.
#pragma once

#include <dlfcn.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace combred {

// How a call advanced each state.
struct Steps {
    // Error ratio: the largest error estimate of a step, divided by the tolerance, at most 1; or
    // infinity: the state is not valid, or did not reach dt, and was left as it was.
    std::vector<double> error;
    // The steps that the solver tried; 0 where the network's step was taken.
    std::vector<std::int64_t> count;
    std::size_t not_advanced;  // how many states were left as they were
};

// Of a species: molar mass [kg/kmol], enthalpy [J/kg] at 298.15 and at 1500 K.
struct Thermo {
    double molar_mass, cold, hot;
};

// Threads: a copy of this class shares the file and has its own workspace. Give each thread its own
// copy, and its own rows of the states; copies advance at the same time.
class Library {
public:
    // Loads `file`. Throws std::runtime_error if there is none, if it is damaged, or if combred did
    // not make it for this kind of machine and this version of the header.
    explicit Library(const std::string& file);
    Library(const Library& other);
    Library(Library&&) = default;
    Library& operator=(Library other) noexcept;

    // Names of the species in the order of the mass fractions.
    const std::vector<std::string>& species() const { return loaded_->species; }

    // Their thermodynamics, which a flow code compares with its own.
    const std::vector<Thermo>& thermo() const { return loaded_->thermo; }

    // Number of columns of a state: T [K], p [Pa] and the mass fractions.
    std::size_t columns() const { return 2 + loaded_->species.size(); }

    // What a surrogate is, as JSON, and the digest of its network; else empty. `level`: the highest
    // code that runs on this CPU, as "x86-64-v3"; empty if there is only one.
    std::string card() const { return loaded_->card; }
    std::string digest() const { return loaded_->digest; }
    std::string level() const { return loaded_->level; }

    // Bound of the error estimate of a step, relative to its change; the library's default, until
    // another is set. Throws std::invalid_argument unless it is positive and finite.
    void set_tolerance(double tolerance);

    // Advances `n` states, stored row after row, by `dt` [s] at constant pressure and enthalpy: one
    // dt for all states, or an array with one for each. The solver advances the states whose error
    // estimate by the network exceeds the tolerance. Throws std::invalid_argument, before any state
    // is changed, unless every dt is positive and finite.
    Steps advance(double* states, std::size_t n, double dt) { return take(states, n, &dt, 0); }
    Steps advance(double* states, std::size_t n, const double* dt) {
        return take(states, n, dt, 1);
    }

    // The same by the solver alone, in a `combred_reactor` of combred.h, with sources that are
    // constant over dt: rows [Q, r, S] of combred_advance_with_sources, or nullptr for none.
    Steps advance(
        double* states, std::size_t n, const double* dt, int reactor, const double* sources
    ) {
        return take(states, n, dt, 1, reactor, sources);
    }

    // Chemical time scales [s] of `n` states, for PaSR and EDC: n_reactions C / sum_i q_i sum_k nu_ik,
    // with C the concentration of the gas, q_i the forward rate of progress of reaction i, and nu_ik
    // the moles of species k that it forms; NaN of a state that is not valid.
    std::vector<double> time_scale(const double* states, std::size_t n);

private:
    static constexpr int interface = 10;  // COMBRED_INTERFACE of combred.h

    struct Options {  // combred_options
        double tolerance;
        std::int64_t max_steps, reactor;
        const double* wall;
    };
    struct Report {  // combred_report
        double* error;
        std::int64_t* steps;
        std::size_t not_advanced;
    };
    static constexpr int not_advanced = 6;  // COMBRED_NOT_ADVANCED
    static double solver_tolerance() { return 1e-3; }  // the default of every solver
    struct Loaded {
        void* handle = nullptr;
        std::vector<std::string> species;
        std::vector<Thermo> thermo;
        std::string card, digest, level;
        std::size_t workspace = 0;
        int (*advance)(std::size_t, double*, const double*, std::size_t, const Options*, Report*,
                       void*, std::size_t) = nullptr;
        int (*advance_with_sources)(std::size_t, double*, const double*, std::size_t, const double*,
                                    const Options*, Report*, void*, std::size_t) = nullptr;
        int (*time_scale)(std::size_t, const double*, double*, void*, std::size_t) = nullptr;
        const char* (*status_text)(int) = nullptr;

        explicit Loaded(const std::string& file);
        Loaded(const Loaded&) = delete;
        ~Loaded() { if (handle) dlclose(handle); }

        void require_interface();
        template<class Function> void find(const char* name, Function*& function) const;
        template<class Result> Result ask(const char* name) const;
    };

    Steps take(double* states, std::size_t n, const double* dt, std::size_t stride,
               int reactor = 0, const double* sources = nullptr);

    void require(int status) const;

    std::shared_ptr<const Loaded> loaded_;
    std::unique_ptr<unsigned char[]> workspace_;
    double tolerance_ = 0.0;  // 0: the library's default
};

namespace detail {

// CRC-32 of bytes, as zlib computes it.
inline std::uint32_t checksum(const char* bytes, std::size_t n) {
    std::uint32_t table[256], sum = 0xffffffffu;
    for (std::uint32_t i = 0; i < 256; ++i) {
        table[i] = i;
        for (int bit = 0; bit < 8; ++bit) {
            table[i] = (table[i] >> 1) ^ (table[i] & 1 ? 0xedb88320u : 0u);
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        sum = table[(sum ^ static_cast<unsigned char>(bytes[i])) & 255] ^ (sum >> 8);
    }
    return ~sum;
}

// The end of the table of sections, which stands last in a 64-bit ELF file: its offset, and the
// size and number of its entries.
inline std::uint64_t end_of_sections(const std::string& file) {
    std::uint64_t offset;
    std::uint16_t size, number;
    std::memcpy(&offset, &file[40], sizeof offset);
    std::memcpy(&size, &file[58], sizeof size);
    std::memcpy(&number, &file[60], sizeof number);
    return offset + std::uint64_t(size) * number;
}

// Throws std::runtime_error unless the bytes of a file agree with the checksum that combred wrote
// behind them. A library that a compiler alone made has none.
inline void require_whole(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    const std::string mark = "combred crc32 ";
    const std::size_t length = mark.size() + 9;  // eight digits and a line feed
    if (bytes.size() < 64 || bytes.compare(0, 4, "\x7f" "ELF") != 0) {
        throw std::runtime_error("it is no library");
    }
    if (bytes.size() < end_of_sections(bytes)) {
        throw std::runtime_error("it is damaged: its end is missing");
    }
    const std::size_t end = bytes.size() - length;
    if (bytes.compare(end, mark.size(), mark) != 0 || bytes.back() != '\n') return;
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(checksum(&bytes[0], end)));
    if (bytes.compare(end + mark.size(), 8, digits) != 0) {
        throw std::runtime_error("it is damaged: its bytes differ from its checksum");
    }
}

}  // namespace detail

inline Library::Loaded::Loaded(const std::string& file) {
    if (!std::ifstream(file)) {
        throw std::runtime_error(
            file + " is missing or cannot be read: `combred export` writes such libraries"
        );
    }
    try {
        detail::require_whole(file);
        // dlopen searches the paths of libraries for a name without a slash.
        const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
        handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle) throw std::runtime_error(dlerror());
        require_interface();
    } catch (const std::exception& error) {
        if (handle) dlclose(handle);
        throw std::runtime_error(
            file + " is no library of combred for this machine (" + error.what() + "): write one "
            "with combred.native.export, or compile its .cpp with the command in its first lines"
        );
    }
}

inline void Library::Loaded::require_interface() {
    const int version = ask<int>("combred_interface");
    if (version != interface) {
        std::ostringstream text;
        text << "it has version " << version << " of the interface, and this header needs "
             << interface;
        throw std::runtime_error(text.str());
    }
    card = ask<const char*>("combred_card");
    digest = ask<const char*>("combred_digest");
    level = ask<const char*>("combred_level");
    workspace = ask<std::size_t>("combred_workspace_size");
    find("combred_advance", advance);
    find("combred_advance_with_sources", advance_with_sources);
    find("combred_time_scale", time_scale);
    find("combred_status_text", status_text);
    const char* (*name)(std::size_t) = nullptr;
    find("combred_species_name", name);
    void (*thermo_of)(std::size_t, double*, double*, double*) = nullptr;
    find("combred_thermo", thermo_of);
    for (std::size_t k = 0; name(k); ++k) {
        Thermo of;
        thermo_of(k, &of.molar_mass, &of.cold, &of.hot);
        species.push_back(name(k));
        thermo.push_back(of);
    }
}

template<class Function>
void Library::Loaded::find(const char* name, Function*& function) const {
    void* found = dlsym(handle, name);
    if (!found) throw std::runtime_error(std::string("it has no function ") + name);
    std::memcpy(&function, &found, sizeof(found));  // POSIX: they have the same representation
}

template<class Result>
Result Library::Loaded::ask(const char* name) const {
    Result (*function)() = nullptr;
    find(name, function);
    return function();
}

inline Library::Library(const std::string& file)
    : loaded_(std::make_shared<const Loaded>(file)),
      workspace_(new unsigned char[loaded_->workspace]) {}

inline Library::Library(const Library& other)
    : loaded_(other.loaded_),
      workspace_(new unsigned char[loaded_->workspace]),
      tolerance_(other.tolerance_) {}

inline Library& Library::operator=(Library other) noexcept {
    loaded_.swap(other.loaded_);
    workspace_.swap(other.workspace_);
    std::swap(tolerance_, other.tolerance_);
    return *this;
}

inline void Library::set_tolerance(double tolerance) {
    if (!(std::isfinite(tolerance) && tolerance > 0.0)) {
        std::ostringstream text;
        text << "a tolerance has to be positive and finite; this one is " << tolerance;
        throw std::invalid_argument(text.str());
    }
    tolerance_ = tolerance;
}

inline Steps Library::take(
    double* states, std::size_t n, const double* dt, std::size_t stride, int reactor,
    const double* sources
) {
    for (std::size_t i = 0; i < (stride ? n : 1); ++i) {
        if (std::isfinite(dt[i]) && dt[i] > 0.0) continue;
        std::ostringstream text;
        text << "dt = " << dt[i] << " s (state " << i << " of " << n
             << "): a time step has to be positive and finite";
        throw std::invalid_argument(text.str());
    }
    Steps steps;
    steps.error.resize(n);
    steps.count.resize(n);
    const double tolerance = tolerance_ > 0.0 || !reactor ? tolerance_ : solver_tolerance();
    const Options own{tolerance, 0, reactor, nullptr};
    const Options* options = tolerance > 0.0 ? &own : nullptr;
    Report report{steps.error.data(), steps.count.data(), 0};
    void* room = workspace_.get();
    const std::size_t size = loaded_->workspace;
    const int status = sources
        ? loaded_->advance_with_sources(n, states, dt, stride, sources, options, &report, room, size)
        : loaded_->advance(n, states, dt, stride, options, &report, room, size);
    if (status != not_advanced) require(status);
    steps.not_advanced = report.not_advanced;
    return steps;
}

inline std::vector<double> Library::time_scale(const double* states, std::size_t n) {
    std::vector<double> seconds(n);
    require(loaded_->time_scale(n, states, seconds.data(), workspace_.get(), loaded_->workspace));
    return seconds;
}

inline void Library::require(int status) const {
    if (status != 0) throw std::runtime_error(loaded_->status_text(status));
}

}  // namespace combred
