// mrc-run: runs a program with the devices of node files in front of the real RDMA devices.
//
// It checks the node files, so that a mistake is told before the program starts and not as an empty
// device list, puts libmrc-verbs.so first in LD_PRELOAD and the files into SOFTMRC_CONFIG, and
// becomes the program: pid, signals and exit status are the program's own. Failures of mrc-run
// itself exit as env(1) does: 125, or 126 and 127 when the program cannot be run or found.
#include <getopt.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "config/node_config.h"
#include "preload.h"

namespace {

namespace fs = std::filesystem;

constexpr int kExitFailure = 125;
constexpr int kExitCannotRun = 126;
constexpr int kExitNotFound = 127;

constexpr const char* kUsage =
    "Usage: mrc-run [--config FILE]... [--] PROGRAM [ARGUMENT]...\n"
    "\n"
    "Runs PROGRAM with the MRC devices of the node files in its list of RDMA devices.\n"
    "\n"
    "  -c, --config FILE   node file of a device; once per device. Without it the variable\n"
    "                      SOFTMRC_CONFIG (files separated by colons) is left as it is\n"
    "  -h, --help          this text\n";

struct CommandLine {
  std::vector<std::string> node_files;
  char** program = nullptr;  // its arguments, ended by nullptr
};

struct UsageError {};

CommandLine parse(int argc, char** argv) {
  static constexpr option kOptions[] = {{"config", required_argument, nullptr, 'c'},
                                        {"help", no_argument, nullptr, 'h'},
                                        {nullptr, 0, nullptr, 0}};
  CommandLine line;
  // "+": the first word that is no option is the program, and all that follows is the program's.
  for (int c; (c = getopt_long(argc, argv, "+c:h", kOptions, nullptr)) != -1;) {
    switch (c) {
      case 'c':
        line.node_files.emplace_back(optarg);
        break;
      case 'h':
        std::fputs(kUsage, stdout);
        std::exit(EXIT_SUCCESS);
      default:
        throw UsageError();
    }
  }
  if (optind >= argc) {
    std::fputs("mrc-run: no program given\n", stderr);
    throw UsageError();
  }
  line.program = argv + optind;
  return line;
}

// The value of SOFTMRC_CONFIG: absolute, because the program may change its directory.
std::string check_node_files(const std::vector<std::string>& files) {
  std::string joined;
  for (const std::string& file : files) {
    if (!fs::exists(file)) throw std::runtime_error(file + ": no such file");
    softmrc::config::load_node(file);  // throws, naming file, line and key
    const std::string path = fs::canonical(file).string();
    if (path.find(':') != std::string::npos) {
      throw std::runtime_error(path + ": the path of a node file cannot contain a colon");
    }
    joined += (joined.empty() ? "" : ":") + path;
  }
  return joined;
}

void set_environment(const char* name, const std::string& value) {
  if (setenv(name, value.c_str(), 1) != 0) {
    throw std::system_error(errno, std::generic_category(), name);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const CommandLine line = parse(argc, argv);
  if (!line.node_files.empty())
    set_environment("SOFTMRC_CONFIG", check_node_files(line.node_files));
  const char* const inherited = std::getenv("LD_PRELOAD");
  set_environment("LD_PRELOAD", mrc_run::preload_list(inherited != nullptr ? inherited : ""));

  execvp(line.program[0], line.program);
  const int error = errno;
  std::fprintf(stderr, "mrc-run: %s: %s\n", line.program[0], std::strerror(error));
  return error == ENOENT ? kExitNotFound : kExitCannotRun;
} catch (const UsageError&) {
  std::fputs("Try 'mrc-run --help'.\n", stderr);
  return kExitFailure;
} catch (const std::exception& error) {
  std::fprintf(stderr, "mrc-run: %s\n", error.what());
  return kExitFailure;
}
