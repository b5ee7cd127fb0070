// Typed reading of a YAML mapping. Every key is taken once; what is left at the end is unknown and
// an error. Errors name file, line and the whole key, e.g. "node.yaml:12: planes[1].mac: ...".
// For readers of files (lib/config, lib/sim): yaml-cpp shows in no public header.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "config/node_config.h"

namespace softmrc::config {

// A file's text, and a text as YAML. Throw ConfigError, which names the file, and the line.
std::string read_text(const std::filesystem::path& file);
YAML::Node parse_yaml(const std::string& text, const std::string& origin);

// Where each key stood, so that checks made after reading can still point at a line.
class Source {
 public:
  explicit Source(std::string origin) : origin_(std::move(origin)) {}

  void note(const std::string& key, const YAML::Node& node);
  // The error for `key`; its line is that of the key or of the nearest enclosing one in the file.
  ConfigError error(const std::string& key, const std::string& message) const;

 private:
  std::string origin_;
  std::map<std::string, int> lines_;  // from 1
};

// A value and the key it was found under. In what describes a plane, "{port}" in a scalar stands
// for the port's number and "{plane}" for that minus 1.
class Value {
 public:
  Value(Source& source, std::string key, YAML::Node node, int port = 0);

  const std::string& key() const { return key_; }
  const YAML::Node& node() const { return node_; }
  int port() const { return port_; }
  ConfigError error(const std::string& message) const { return source_->error(key_, message); }
  Value child(std::string key, const YAML::Node& node, int port) const {
    return Value(*source_, std::move(key), node, port);
  }

  std::string text() const;
  bool boolean() const;  // true or false
  // Decimal or 0x hexadecimal, in [low, high].
  uint64_t integer(uint64_t low, uint64_t high) const;
  double number(double low, double high) const;  // decimal, in [low, high]
  uint64_t bytes() const;  // a whole number, or one with K, M or G (powers of 1024) behind it
  IpAddress address() const;
  MacAddress mac() const;
  std::vector<Value> list() const;
  template <typename Enum>
  Enum choice(const std::vector<std::pair<std::string_view, Enum>>& names) const;

 private:
  Source* source_;
  std::string key_;
  YAML::Node node_;
  int port_;
};

class Fields {
 public:
  // `defaults`, when given, is the mapping whose values stand in for missing keys.
  explicit Fields(const Value& mapping, const Value* defaults = nullptr);

  std::optional<Value> take(const std::string& key);
  Value require(const std::string& key);
  // Throws on the first key that was never taken.
  void finish() const;

  template <typename Integer>
  void integer(const std::string& key, Integer& out, uint64_t low, uint64_t high) {
    if (const auto value = take(key)) out = static_cast<Integer>(value->integer(low, high));
  }
  template <typename Enum>
  void choice(const std::string& key, Enum& out,
              const std::vector<std::pair<std::string_view, Enum>>& names) {
    if (const auto value = take(key)) out = value->choice(names);
  }

 private:
  Value mapping_;
  std::map<std::string, Value> values_;  // the file's own keys, over the defaults
  std::set<std::string> taken_;
};

template <typename Enum>
Enum Value::choice(const std::vector<std::pair<std::string_view, Enum>>& names) const {
  const std::string given = text();
  std::string known;
  for (const auto& [name, value] : names) {
    if (name == given) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw error("'" + given + "' is none of " + known);
}

}  // namespace softmrc::config
