// CRC-32 of tables of numbers, as zlib computes it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace {

class Checksum {
 public:
  Checksum() {
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t remainder = i;
      for (int bit = 0; bit < 8; bit++)
        remainder = (remainder >> 1) ^ (remainder & 1 ? 0xedb88320u : 0u);
      remainders_[i] = remainder;
    }
  }
  void add(const void *data, size_t size) {
    const unsigned char *bytes = static_cast<const unsigned char *>(data);
    for (size_t i = 0; i < size; i++)
      state_ = remainders_[(state_ ^ bytes[i]) & 255] ^ (state_ >> 8);
  }
  uint32_t value() const { return ~state_; }

 private:
  uint32_t remainders_[256], state_ = 0xffffffffu;
};

}  // namespace
