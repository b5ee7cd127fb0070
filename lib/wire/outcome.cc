// The counters' names are the enumerators', so that what is exported cannot drift from the code.
#include "wire/outcome.h"

namespace softmrc::wire {

const char* name(Outcome outcome) {
  switch (outcome) {
#define X(n)       \
  case Outcome::n: \
    return #n;
    SOFTMRC_OUTCOMES(X)
#undef X
  }
  return "unknown";
}

}  // namespace softmrc::wire
