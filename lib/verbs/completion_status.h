// How the end of a request is reported: the status verbs programs know, and a vendor_err that tells
// causes apart which share a status.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "transport/send_queue.h"

namespace softmrc::verbs {

struct CompletionStatus {
  ibv_wc_status status;
  uint32_t vendor_err;
};

constexpr CompletionStatus completion_status(transport::RequestStatus status) {
  using transport::RequestStatus;
  switch (status) {
    case RequestStatus::kSuccess:
      return {IBV_WC_SUCCESS, 0};
    // An L_Key that does not cover its SGE.
    case RequestStatus::kLocalProtectionError:
      return {IBV_WC_LOC_PROT_ERR, 0x01};
    // More packets than PSNs can count; posting refuses it once the path MTU is known.
    case RequestStatus::kLocalLengthError:
      return {IBV_WC_LOC_LEN_ERR, 0x02};
    // Transport NAK 0x61.
    case RequestStatus::kRemoteInvalidRequest:
      return {IBV_WC_REM_INV_REQ_ERR, 0x61};
    // Transport NAK 0x62: R_Key, protection domain, rights or bounds.
    case RequestStatus::kRemoteAccessError:
      return {IBV_WC_REM_ACCESS_ERR, 0x62};
    // Transport NAK 0x63, or a NACK that says that retrying is no use.
    case RequestStatus::kRemoteOperationError:
      return {IBV_WC_REM_OP_ERR, 0x63};
    // The peer, or every path to it, was silent for the whole retry budget.
    case RequestStatus::kRetryExceeded:
      return {IBV_WC_RETRY_EXC_ERR, 0x81};
    // Not the cause: another request of the QP failed, or the QP was moved to ERROR.
    case RequestStatus::kFlushed:
      return {IBV_WC_WR_FLUSH_ERR, 0xF9};
  }
  return {IBV_WC_GENERAL_ERR, 0xFF};
}

}  // namespace softmrc::verbs
