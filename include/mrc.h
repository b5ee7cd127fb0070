/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The MRC data interface: contexts, completion queues, QPs and RDMA writes over many paths.
 *
 * Names, layouts and values are those of MRC interface 1.0.1, so that programs built for another
 * implementation run here unchanged. Devices, protection domains and memory regions are ordinary
 * libibverbs objects; what is declared here stands beside them. Only RDMA writes exist, with and
 * without immediate ("WIMM").
 *
 * Failures. Unless a function says otherwise it returns 0, or -1 with errno set; creators return a
 * handle, or NULL with errno set. "Returns an errno value" means 0 or that value, errno being set
 * too, as the libibverbs call of the same kind does. NULL for a parameter that is not called
 * optional is EINVAL. Nothing here prints, aborts or exits.
 *
 * Threads. Every function may be called from any thread. A handle must not be in use by one thread
 * while another destroys it.
 */
#ifndef MRC_H
#define MRC_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "mrc_api_ver.h"

/*
 * The version a program is written for. Define MRC_API_VER_USED before the first inclusion to get
 * the declarations of an older version; without it, or with MRC_API_VER_LATEST, it becomes the
 * current one. Pass it to mrc_create_context(). MRC_VENDOR_API_VER_USED works alike.
 */
#ifndef MRC_API_VER_USED
#define MRC_API_VER_USED MRC_API_CURRENT_VERSION
#elif MRC_API_VER_USED == MRC_API_VER_LATEST
#undef MRC_API_VER_USED
#define MRC_API_VER_USED MRC_API_CURRENT_VERSION
#elif MRC_API_VER_USED > MRC_API_CURRENT_VERSION
#error "MRC_API_VER_USED is newer than this mrc.h"
#endif

#ifndef MRC_VENDOR_API_VER_USED
#define MRC_VENDOR_API_VER_USED MRC_VENDOR_API_CURRENT_VERSION
#elif MRC_VENDOR_API_VER_USED == MRC_API_VER_LATEST
#undef MRC_VENDOR_API_VER_USED
#define MRC_VENDOR_API_VER_USED MRC_VENDOR_API_CURRENT_VERSION
#elif MRC_VENDOR_API_VER_USED > MRC_VENDOR_API_CURRENT_VERSION
#error "MRC_VENDOR_API_VER_USED is newer than this mrc.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes in a vendor_cfg array. Its content is stored and given back; nothing here depends on it. */
#define MRC_MAX_VENDOR_CFG_SIZE 128

struct mrc_context;
struct mrc_qp;
struct mrc_cq;
struct mrc_comp_channel;
struct mrc_qp_hint;

/*
 * Bit 31 of a mask is written as the int that has only this bit set: masks are passed as int, and
 * ISO C has no enumerator above INT_MAX.
 */

/* ---- Devices ------------------------------------------------------------------------- */

/* Version of the wire protocol; a bit mask where a device tells what it has. */
enum mrc_protocol_version {
  MRC_PROTOCOL_VERSION_0 = 0,
  MRC_PROTOCOL_VERSION_1 = 1 << 0,
};

enum mrc_device_cap {
  /* As responder, answers a packet trimmed by a switch with a NACK. */
  MRC_DEVICE_CAP_TRIM_NACK = 1 << 0,
  /* The responder's packet window may change while a QP runs. */
  MRC_DEVICE_CAP_DYNAMIC_MPR = 1 << 1,
  /* As responder, reports how long it held a request before answering. */
  MRC_DEVICE_CAP_SVC_TIME = 1 << 2,
};

struct mrc_device_attr {
  /* OR of enum mrc_protocol_version. */
  uint32_t mrc_protocol_version;
  /* Most writes with immediate outstanding per QP, as requestor and as responder ("dest"). */
  struct {
    uint16_t max_wimm;
    uint16_t max_wimm_dest;
  } wimm_attr;
  /* MPR, the maximum PSN range: both in units of 128 packets. */
  struct {
    uint8_t max_mpr;
    /* A QP's mpr is rounded to a multiple of this. */
    uint8_t mpr_resolution;
  } mpr_attr;
  struct {
    /* QP hints that can exist at a time. */
    uint32_t max_qp_hint;
  } qp_attr;
  /* OR of enum mrc_device_cap. */
  uint32_t cap;
};

/* ---- Contexts ------------------------------------------------------------------------ */

struct mrc_context_attr {
  /*
   * MRC_API_VER_USED of the program. Values up to the current version are accepted, the protocol
   * numbers 0 and 1 that programs also pass included. It fixes the size of struct mrc_ctl_ev_event
   * in this context: exactly 1.0.0 means the smaller one.
   */
  uint32_t mrc_api_version_used;
  /* MRC_VENDOR_API_VER_USED of the program. */
  uint32_t mrc_vendor_api_version_used;
};

/* ---- QP hints ------------------------------------------------------------------------ */

/* What a program expects of a group of QPs; counts, not limits. */
struct mrc_qp_hint_attr {
  int num_qps_per_peer;
  /* Peers this side sends to. */
  int num_send_peers;
  /* Senders that one peer receives from at a time, this side included: its incast degree. */
  int num_remote_recv_peers;
  uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

struct mrc_qp_hint_init_attr {
  struct mrc_qp_hint_attr attr;
};

/* Which members of struct mrc_qp_hint_attr a call is about. */
enum mrc_qp_hint_attr_mask {
  MRC_QP_HINT_NUM_QPS_PER_PEER = 1 << 0,
  MRC_QP_HINT_NUM_SEND_PEERS = 1 << 1,
  MRC_QP_HINT_NUM_REMOTE_RECV_PEERS = 1 << 2,
  MRC_QP_HINT_VENDOR_CFG = -0x7fffffff - 1, /* bit 31 */
};

/* ---- QPs ----------------------------------------------------------------------------- */

struct mrc_qp_init_attr {
  /* The program's own; given back by mrc_query_qp(). */
  void* qp_context;
  /* May be one and the same. */
  struct mrc_cq* send_cq;
  struct mrc_cq* recv_cq;
  /* Wanted sizes; mrc_create_qp() writes back the granted ones, none smaller. */
  struct ibv_qp_cap cap;
  /* Not 0: every send completes with a CQ entry, as if IBV_SEND_SIGNALED were always given. */
  int sq_sig_all;
  struct ibv_pd* pd;
  /* enum ibv_qp_create_send_ops_flags; RDMA write and RDMA write with immediate exist. */
  uint64_t send_ops_flags;
  enum mrc_protocol_version protocol_version;
};

/* What a QP does other than the device could do, or does not do because its peer cannot. */
enum mrc_qp_cap {
  /* The peer sends no NACK for trimmed packets: ask switches not to trim. */
  MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED = 1 << 0,
  /* Dynamic MPR in both directions; both sides must set it. */
  MRC_QP_CAP_DYNAMIC_MPR = 1 << 1,
  /* The peer does not report service times. */
  MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED = 1 << 2,
};

/*
 * Attributes of a QP that libibverbs has no place for. A member with "dest" is what the peer, as
 * responder, can take or what this side, as responder, offers its peer: mpr and max_wimm must not
 * exceed what the other side set as its mpr_dest and max_wimm_dest. Nothing of this is negotiated
 * on the wire; programs exchange it.
 */
struct mrc_qp_attr {
  /* Packets in flight, in units of 128. As requestor; as responder. Default 8 and 8. */
  struct {
    uint8_t mpr;
    uint8_t mpr_dest;
  } mpr;
  /* Writes with immediate in flight. As requestor; as responder. Default 32 and 128. */
  struct {
    uint16_t max_wimm;
    uint16_t max_wimm_dest;
  } wimm;
  /* Local ACK timeout: 1.024 us * 2^timeout, 0..24. Default 14. */
  uint8_t timeout;
  /* Profiles made with mrc_ctl.h. Not given: the device chooses the EVs, and its default CC. */
  struct {
    uint64_t ev_profile_id;
    uint64_t cc_profile_id;
  } profile;
  /* Timeouts before the QP fails: evenly spaced ones (0..7), then doubling ones (0..25, where 25
   * is without end). Default 7 and 7. */
  struct {
    uint8_t linear_cnt;
    uint8_t exp_cnt;
  } retry;
  /* Optional. A hint stays busy as long as a QP refers to it. */
  struct mrc_qp_hint* qp_hint;
  /* OR of enum mrc_qp_cap. */
  uint32_t cap;
  uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

/* Which members of struct mrc_qp_attr a call is about. */
enum mrc_qp_attr_mask {
  MRC_QP_MAX_WIMM = 1 << 0,
  MRC_QP_MAX_WIMM_DEST = 1 << 1,
  MRC_QP_MPR = 1 << 2,
  MRC_QP_MPR_DEST = 1 << 3,
  MRC_QP_TIMEOUT = 1 << 4,
  MRC_QP_EV_PROFILE_ID = 1 << 5,
  MRC_QP_CC_PROFILE_ID = 1 << 6,
  MRC_QP_HINT = 1 << 7,
  MRC_QP_RETRY_CNT = 1 << 8, /* both counts of retry */
  MRC_QP_CAP = 1 << 9,
  MRC_QP_VENDOR_CFG = -0x7fffffff - 1, /* bit 31 */
};

/* ---- Asynchronous events ------------------------------------------------------------- */

struct mrc_async_event {
  /* cq for CQ events, qp for QP events, port_num (from 1) for port events. */
  union {
    struct mrc_cq* cq;
    struct mrc_qp* qp;
    int port_num;
  } element;
  enum ibv_event_type event_type;
};

/* The library exports these whatever a translation unit's own default visibility is. */
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/*
 * Fills attr with what the device can do. *supported becomes 1, or 0 if the device does not speak
 * MRC; then attr is not written, and the call has still succeeded.
 */
int mrc_query_device(struct ibv_context* context, struct mrc_device_attr* attr, int* supported);

#if MRC_API_VER_USED >= MRC_API_VER(1, 0, 1)
/* As mrc_query_device(), as seen from an MRC context of that device. mcontext is optional. */
int mrc_query_device_ex(struct ibv_context* context, struct mrc_context* mcontext,
                        struct mrc_device_attr* attr, int* supported);
#endif

/*
 * Versions of the library in use, which need not be those of the headers a program was built with.
 * Each pointer is optional. Encoded as by MRC_API_VER().
 */
void mrc_query_version(uint32_t* current_version, uint32_t* last_supported_version,
                       uint32_t* vendor_version, uint32_t* last_supported_vendor_version);

/*
 * Opens a device for MRC. context_attr is read during the call only.
 * Errors: EINVAL a version above the current one; EOPNOTSUPP not an MRC device; ENOMEM.
 */
struct mrc_context* mrc_create_context(struct ibv_context* vcontext,
                                       struct mrc_context_attr* context_attr);

/* Errors: EBUSY while something made with the context exists. */
int mrc_destroy_context(struct mrc_context* mrc_ctx);

/* A channel on which completion events of CQs arrive. */
int mrc_create_comp_channel(struct mrc_context* mrc_ctx, struct mrc_comp_channel** channel);

/* The channel's file descriptor, readable (poll, select, epoll) while an event waits. It belongs to
 * the channel: do not read or close it; O_NONBLOCK may be set. */
int mrc_get_comp_channel_fd(struct mrc_comp_channel* channel, int* fd);

/* Returns an errno value: EBUSY while a CQ uses the channel. */
int mrc_destroy_comp_channel(struct mrc_comp_channel* channel);

/*
 * Makes a CQ of at least cqe entries, cqe >= 1. channel is optional. comp_vector counts from 0 up
 * to the verbs context's num_comp_vectors - 1. cq_context is the program's own, given back by
 * mrc_get_cq_event(). A CQ that overflows reports IBV_EVENT_CQ_ERR and is dead from then on.
 * Errors: EINVAL, ENOMEM.
 */
struct mrc_cq* mrc_create_cq(struct mrc_context* mrc_ctx, int cqe, void* cq_context,
                             struct mrc_comp_channel* channel, int comp_vector);

/*
 * Takes up to num_entries completions, oldest first, and returns how many; a negative value on
 * failure. A write completes with IBV_WC_RDMA_WRITE. A received immediate completes with
 * IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM set, byte_len the length of the message in bytes and
 * imm_data in network order. With a status other than IBV_WC_SUCCESS only wr_id, status, qp_num and
 * vendor_err mean something.
 */
int mrc_poll_cq(struct mrc_cq* cq, int num_entries, struct ibv_wc* wc);

/*
 * Waits until every event got for the CQ has been acknowledged.
 * Returns an errno value: EBUSY while a QP uses the CQ.
 */
int mrc_destroy_cq(struct mrc_cq* cq);

/* A hint for QPs to refer to. init_attr is read during the call only. */
struct mrc_qp_hint* mrc_create_qp_hint(struct mrc_context* mrc_ctx,
                                       struct mrc_qp_hint_init_attr* init_attr);

/* Errors: EBUSY while a QP refers to the hint. */
int mrc_destroy_qp_hint(struct mrc_qp_hint* qp_hint);

/* Reads, or sets, the members named by the mask (enum mrc_qp_hint_attr_mask). An unknown bit, or a
 * negative count: EINVAL. */
int mrc_query_qp_hint(struct mrc_qp_hint* qp_hint, struct mrc_qp_hint_attr* qp_hint_attr,
                      int qp_hint_attr_mask);
int mrc_modify_qp_hint(struct mrc_qp_hint* qp_hint, struct mrc_qp_hint_attr* qp_hint_attr,
                       int qp_hint_attr_mask);

/*
 * Makes a QP in state RESET. Writes the granted sizes to mrc_qp_attr->cap.
 * Errors: EINVAL sizes above the device's limits, objects of different devices; EOPNOTSUPP a
 * send_ops_flags bit or protocol version that does not exist here; ENOMEM.
 */
struct mrc_qp* mrc_create_qp(struct mrc_context* mrc_ctx, struct mrc_qp_init_attr* mrc_qp_attr);

/* Stops the QP; what it still had in its CQs is gone. Waits until every asynchronous event got for
 * it has been acknowledged. Returns an errno value. */
int mrc_destroy_qp(struct mrc_qp* qp);

/*
 * Gives what is in force, after any rounding or clamping: the libibverbs attributes, the MRC
 * attributes and the creation attributes. vattr, mrc_attr and init_attr are optional, as long as
 * the mask that goes with one is 0. Returns an errno value.
 */
int mrc_query_qp(struct mrc_qp* qp, struct ibv_qp_attr* vattr, int vattr_mask,
                 struct mrc_qp_attr* mrc_attr, int mrc_attr_mask,
                 struct mrc_qp_init_attr* init_attr);

/*
 * Sets attributes and moves the QP through RESET, INIT, RTR and RTS (to RESET or ERROR from
 * anywhere). vattr and enum ibv_qp_attr_mask as for ibv_modify_qp() on a reliable connection;
 * mrc_attr and enum mrc_qp_attr_mask add what MRC needs. mrc_attr may be NULL and its mask 0 at any
 * transition: the defaults at struct mrc_qp_attr hold for whatever is not given. mpr, wimm and cap
 * are taken at RTR or at RTS.
 *
 * Of the address handle, dgid and sgid_index act; traffic_class (DSCP of data) and hop_limit act
 * when not 0; flow_label does not, since it carries the EV. IBV_QP_TIMEOUT and IBV_QP_RETRY_CNT act
 * unless the MRC attribute is given too. IBV_QP_RNR_RETRY, IBV_QP_MIN_RNR_TIMER,
 * IBV_QP_MAX_QP_RD_ATOMIC and IBV_QP_MAX_DEST_RD_ATOMIC are accepted and mean nothing: a write with
 * immediate that finds no posted receive is an error of the QP, and there are no reads.
 *
 * Returns an errno value: EINVAL a transition that does not exist, a required attribute missing, a
 * value out of range, a profile that is unknown or not ONLINE.
 */
int mrc_modify_qp(struct mrc_qp* qp, struct ibv_qp_attr* vattr, int vattr_mask,
                  struct mrc_qp_attr* mrc_attr, int mrc_attr_mask);

/* The QP's number, 24 bits, to be exchanged with the peer. */
int mrc_get_qpn(struct mrc_qp* qp, uint32_t* qpn);

/*
 * Posts a chain of receives; each takes one immediate. Their SGEs are not written to (a write goes
 * where its remote address says) and may be none.
 * Errors: ENOMEM queue full; EINVAL too many SGEs, or the QP in RESET. *bad_wr is then the first
 * request not posted; those before it are.
 */
int mrc_post_recv(struct mrc_qp* qp, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr);

/*
 * Posts a chain of writes: IBV_WR_RDMA_WRITE or IBV_WR_RDMA_WRITE_WITH_IMM, of 0 to 2^32 - 1 bytes
 * gathered from up to max_send_sge SGEs; IBV_SEND_INLINE up to max_inline_data bytes. They complete
 * in the order posted, once the peer has processed them. In state ERROR a write completes with
 * IBV_WC_WR_FLUSH_ERR. A local key that does not cover its SGE shows up as IBV_WC_LOC_PROT_ERR.
 * Returns an errno value: EOPNOTSUPP another opcode; ENOMEM queue full; EINVAL too many SGEs, too
 * long, or the QP in a state before RTS. *bad_wr as for mrc_post_recv().
 */
int mrc_post_send(struct mrc_qp* qp, struct ibv_send_wr* wr, struct ibv_send_wr** bad_wr);

/*
 * Takes the next asynchronous event; waits for one unless the file descriptor of the verbs context
 * (async_fd) has O_NONBLOCK set: EAGAIN. Acknowledge each event got.
 */
int mrc_get_async_event(struct mrc_context* mrc_ctx, struct mrc_async_event* event);
void mrc_ack_async_event(struct mrc_async_event* event);

/*
 * Arms the CQ: the next completion puts one event on its channel; if some wait already, the event
 * comes at once, so that none is missed between polling and arming. With solicited_only not 0, only
 * completions count that arrived with the solicited bit, or failed. Returns an errno value.
 */
int mrc_req_notify_cq(struct mrc_cq* cq, int solicited_only);

/*
 * Takes the next event of the channel, waiting for one unless its file descriptor has O_NONBLOCK
 * set: EAGAIN. Gives the CQ and the cq_context it was made with. Acknowledge each event got.
 */
int mrc_get_cq_event(struct mrc_comp_channel* channel, struct mrc_cq** cq, void** cq_context);
void mrc_ack_cq_events(struct mrc_cq* cq, unsigned int nevents);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* MRC_H */
