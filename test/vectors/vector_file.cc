// Reads the golden packets' file. Nothing in it is trusted: every defect ends in a FormatError that
// says what and where.
#include "vector_file.h"

#include <fstream>

namespace softmrc::vectors {

namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  throw FormatError(std::string("'") + c + "' is no hexadecimal digit");
}

const nlohmann::json& member(const nlohmann::json& entry, const char* key) {
  const auto it = entry.find(key);
  if (it == entry.end()) throw FormatError(std::string("\"") + key + "\" is missing");
  return *it;
}

}  // namespace

std::vector<uint8_t> from_hex(const std::string& text) {
  if (text.size() % 2 != 0) throw FormatError("odd number of hexadecimal digits");
  std::vector<uint8_t> bytes(text.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  }
  return bytes;
}

std::string to_hex(const uint8_t* data, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[data[i] >> 4];
    text += kDigits[data[i] & 0xF];
  }
  return text;
}

nlohmann::json load(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw FormatError(path + ": cannot be read");
  try {
    nlohmann::json list = nlohmann::json::parse(in);
    if (!list.is_array()) throw FormatError(path + ": is not a list of packets");
    return list;
  } catch (const nlohmann::json::exception& e) {
    throw FormatError(path + ": is not JSON: " + e.what());
  } catch (const std::ios_base::failure& e) {
    throw FormatError(path + ": cannot be read: " + e.what());
  }
}

Vector read_vector(const nlohmann::json& entry) {
  if (!entry.is_object()) throw FormatError("is not an object");
  Vector v;
  v.fields = member(entry, "fields");
  if (!v.fields.is_object()) throw FormatError("\"fields\" is not an object");

  const nlohmann::json& frame = member(entry, "frame");
  if (!frame.is_string()) throw FormatError("\"frame\" is not a string");
  try {
    v.frame = from_hex(frame.get<std::string>());
  } catch (const FormatError& e) {
    throw FormatError(std::string("\"frame\": ") + e.what());
  }

  if (entry.contains("use")) {
    if (entry["use"] != "parse") throw FormatError("\"use\" is " + entry["use"].dump());
    v.parse_only = true;
  }
  return v;
}

std::string name_of(const nlohmann::json& entry, size_t index) {
  const bool named = entry.is_object() && entry.contains("name") && entry["name"].is_string();
  return named ? entry["name"].get<std::string>() : "packet " + std::to_string(index);
}

}  // namespace softmrc::vectors
