// One mrc-pmd from the first hello to the summary: the loop that drives traffic, control
// connections, statistics and commands, all on one thread.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
#include "ends.h"
#include "options.h"
#include "prompt.h"
#include "runner.h"
#include "screen.h"

namespace softmrc::apps::pmd {

class Session {
 public:
  explicit Session(const Options& options);

  // Until the runs are over, `quit`, Ctrl-C or the peers' end. Throws after telling the peers;
  // report() then holds what there is.
  void run();
  const nlohmann::json& report() const { return report_; }

 private:
  void serve();
  void look(Time now);
  void take_command(Time now);
  void execute(const Command& command, Time now);
  void set(const Command& command);
  void on_ports(const Command& command, Time now);
  void start();
  void show_statistics(Time now, std::optional<uint32_t> port, bool all_causes);
  void show_config();
  void say(const std::string& text);
  void note_report();

  const Options options_;
  Traffic traffic_;
  Duration stats_period_;
  Ends ends_;
  Runner runner_;
  Overview overview_;
  std::optional<Prompt> prompt_;
  bool prompted_ = false;  // the prompt is shown, and no command has come yet
  bool ran_ = false;       // the runs asked for have begun
  bool leaving_ = false;
  Time next_statistics_{};
  nlohmann::json report_;
};

}  // namespace softmrc::apps::pmd
