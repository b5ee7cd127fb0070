#include "dataplane/pcapng.h"

#include <bit>
#include <cstring>

namespace softmrc::dataplane::pcapng {

namespace {

// In the writer's byte order, which the section header tells.
template <typename T>
void put(std::vector<uint8_t>& out, T value) {
  const size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

void put_padded(std::vector<uint8_t>& out, std::span<const uint8_t> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
  out.resize(out.size() + (-bytes.size() & 3), 0);
}

void put_option(std::vector<uint8_t>& out, uint16_t code, std::span<const uint8_t> value) {
  put(out, code);
  put(out, static_cast<uint16_t>(value.size()));
  put_padded(out, value);
}
void put_option(std::vector<uint8_t>& out, uint16_t code, const std::string& value) {
  put_option(out, code, {reinterpret_cast<const uint8_t*>(value.data()), value.size()});
}
void end_options(std::vector<uint8_t>& out) { put<uint32_t>(out, 0); }

// A block's total length stands at both its ends.
class Block {
 public:
  Block(std::vector<uint8_t>& out, uint32_t type) : out_(out), begin_(out.size()) {
    put(out_, type);
    put<uint32_t>(out_, 0);
  }
  ~Block() {
    const auto length = static_cast<uint32_t>(out_.size() - begin_ + sizeof(uint32_t));
    std::memcpy(out_.data() + begin_ + sizeof(uint32_t), &length, sizeof length);
    put(out_, length);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

 private:
  std::vector<uint8_t>& out_;
  const size_t begin_;
};

}  // namespace

void section_header(const std::string& application, std::vector<uint8_t>& out) {
  constexpr uint32_t kType = 0x0A0D0D0A, kByteOrder = 0x1A2B3C4D;
  constexpr uint16_t kUserApplication = 4;
  const Block block(out, kType);
  put(out, kByteOrder);
  put<uint16_t>(out, 1);  // version 1.0
  put<uint16_t>(out, 0);
  put<int64_t>(out, -1);  // section length: not known
  put_option(out, kUserApplication, application);
  end_options(out);
}

void ethernet_interface(const std::string& name, std::vector<uint8_t>& out) {
  constexpr uint32_t kType = 1;
  constexpr uint16_t kLinkTypeEthernet = 1, kName = 2, kTimeResolution = 9;
  constexpr uint8_t kNanoseconds = 9;  // 10^-9
  const Block block(out, kType);
  put(out, kLinkTypeEthernet);
  put<uint16_t>(out, 0);
  put<uint32_t>(out, 0);  // no limit on the captured length
  put_option(out, kName, name);
  put_option(out, kTimeResolution, std::span(&kNanoseconds, 1));
  end_options(out);
}

void packet(uint32_t interface, uint64_t time_ns, Direction direction,
            std::span<const uint8_t> frame, std::vector<uint8_t>& out) {
  constexpr uint32_t kType = 6;
  constexpr uint16_t kFlags = 2;
  const Block block(out, kType);
  put(out, interface);
  put(out, static_cast<uint32_t>(time_ns >> 32));
  put(out, static_cast<uint32_t>(time_ns));
  put(out, static_cast<uint32_t>(frame.size()));  // captured, original
  put(out, static_cast<uint32_t>(frame.size()));
  put_padded(out, frame);
  const uint8_t flags[4] = {static_cast<uint8_t>(direction), 0, 0, 0};
  static_assert(std::endian::native == std::endian::little);
  put_option(out, kFlags, flags);
  end_options(out);
}

}  // namespace softmrc::dataplane::pcapng
