// `mrc-ctl show`: what a device has, for people and for programs.
#pragma once

#include "mrc_ctl.h"

namespace softmrc::ctl {

void show(ibv_context* verbs, mrc_context* context, bool json);

}  // namespace softmrc::ctl
