// Scalars are parsed here and not by yaml-cpp, whose conversions accept more than one wants in a
// configuration (octal, "yes", trailing text).
#include "config/yaml_reader.h"

#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

namespace softmrc::config {
namespace {

std::string join(const std::string& parent, const std::string& key) {
  return parent.empty() ? key : parent + "." + key;
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw ConfigError(file.string() + ": cannot be read");
  return text.str();
}

YAML::Node parse_yaml(const std::string& text, const std::string& origin) {
  try {
    return YAML::Load(text);
  } catch (const YAML::ParserException& e) {
    throw ConfigError(origin + ":" + std::to_string(e.mark.line + 1) + ": not YAML: " + e.msg);
  }
}

void Source::note(const std::string& key, const YAML::Node& node) {
  if (!node.Mark().is_null()) lines_.insert_or_assign(key, node.Mark().line + 1);
}

ConfigError Source::error(const std::string& key, const std::string& message) const {
  std::string nearest = key;
  auto found = lines_.find(nearest);
  while (found == lines_.end() && !nearest.empty()) {
    const size_t cut = nearest.find_last_of(".[");
    nearest.resize(cut == std::string::npos ? 0 : cut);
    found = lines_.find(nearest);
  }
  const int line = found == lines_.end() ? 1 : found->second;
  return ConfigError(origin_ + ":" + std::to_string(line) + ": " + (key.empty() ? "" : key + ": ") +
                     message);
}

Value::Value(Source& source, std::string key, YAML::Node node, int port)
    : source_(&source), key_(std::move(key)), node_(std::move(node)), port_(port) {
  source_->note(key_, node_);
}

std::string Value::text() const {
  if (!node_.IsScalar()) throw error("a single value is expected here");
  std::string text = node_.Scalar();
  if (port_ != 0) {
    replace_all(text, "{port}", std::to_string(port_));
    replace_all(text, "{plane}", std::to_string(port_ - 1));
  }
  return text;
}

bool Value::boolean() const { return choice<bool>({{"true", true}, {"false", false}}); }

uint64_t Value::integer(uint64_t low, uint64_t high) const {
  const std::string given = text();
  const bool hex = given.starts_with("0x") || given.starts_with("0X");
  const char* begin = given.data() + (hex ? 2 : 0);
  const char* end = given.data() + given.size();
  uint64_t number = 0;
  const auto [stop, status] = std::from_chars(begin, end, number, hex ? 16 : 10);
  if (status != std::errc() || stop != end) throw error("'" + given + "' is not a whole number");
  if (number < low || number > high) {
    throw error(given + " is not in " + std::to_string(low) + ".." + std::to_string(high));
  }
  return number;
}

double Value::number(double low, double high) const {
  const std::string given = text();
  const char* end = given.data() + given.size();
  double number = 0;
  const auto [stop, status] = std::from_chars(given.data(), end, number);
  if (status != std::errc() || stop != end || !std::isfinite(number))
    throw error("'" + given + "' is not a number");
  if (number < low || number > high) {
    std::ostringstream range;
    range << given << " is not in " << low << ".." << high;
    throw error(range.str());
  }
  return number;
}

uint64_t Value::bytes() const {
  const std::string given = text();
  uint64_t number = 0;
  const char* end = given.data() + given.size();
  const auto [stop, status] = std::from_chars(given.data(), end, number);
  const std::string unit(stop, end);
  const size_t power = std::string("KMG").find(unit);
  const bool known = unit.empty() || (unit.size() == 1 && power != std::string::npos);
  if (status != std::errc() || !known)
    throw error("'" + given + "' is not a size in bytes (K, M or G may follow)");
  const unsigned shift = unit.empty() ? 0 : 10 * static_cast<unsigned>(power + 1);
  if (number > (uint64_t{1} << 48) >> shift) throw error(given + " is too large");
  return number << shift;
}

IpAddress Value::address() const {
  const std::string given = text();
  const auto address = parse_ip(given);
  if (!address || address->is_zero()) throw error("'" + given + "' is not an IP address");
  return *address;
}

MacAddress Value::mac() const {
  const std::string given = text();
  const auto mac = parse_mac(given);
  if (!mac) throw error("'" + given + "' is not a MAC address (six pairs of hex digits)");
  if ((mac->bytes[0] & 1) != 0) throw error("'" + given + "' is a multicast address");
  if (*mac == MacAddress{}) throw error("the MAC address is all zero");
  return *mac;
}

std::vector<Value> Value::list() const {
  if (!node_.IsSequence()) throw error("a list is expected here");
  std::vector<Value> values;
  for (const auto& item : node_) {
    values.emplace_back(*source_, key_ + "[" + std::to_string(values.size()) + "]", item, port_);
  }
  return values;
}

Fields::Fields(const Value& mapping, const Value* defaults) : mapping_(mapping) {
  const auto read = [this](const Value& from, int port) {
    if (!from.node().IsMap()) throw from.error("a mapping (key: value) is expected here");
    std::set<std::string> seen;
    for (const auto& pair : from.node()) {
      if (!pair.first.IsScalar()) throw from.error("a key must be a plain word");
      const std::string key = pair.first.Scalar();
      Value value = from.child(join(from.key(), key), pair.second, port);
      if (!seen.insert(key).second) throw value.error("given twice");
      values_.insert_or_assign(key, std::move(value));
    }
  };
  if (defaults != nullptr) read(*defaults, mapping.port());
  read(mapping, mapping.port());
}

std::optional<Value> Fields::take(const std::string& key) {
  taken_.insert(key);
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

Value Fields::require(const std::string& key) {
  auto value = take(key);
  if (!value) throw mapping_.error("'" + key + "' is missing");
  return *value;
}

void Fields::finish() const {
  for (const auto& [key, value] : values_) {
    if (!taken_.contains(key)) throw value.error("unknown key");
  }
}

}  // namespace softmrc::config
