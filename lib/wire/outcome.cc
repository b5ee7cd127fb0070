// The counters' names are the enumerators', so that what is exported cannot drift from the code.
#include "wire/outcome.h"

namespace softmrc::wire {

const char* name(Outcome outcome) {
  const auto index = static_cast<size_t>(outcome);
  return index < kOutcomeCount ? kOutcomeNames[index] : "unknown";
}

}  // namespace softmrc::wire
