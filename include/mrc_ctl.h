/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The MRC control interface: ports, EV and congestion control profiles, EV events, endpoint
 * operations. Names, layouts and values are those of MRC interface 1.0.1; see mrc.h for handles,
 * threads and how failures are reported.
 *
 * Every function but mrc_ctl_query_version() needs CAP_NET_ADMIN, else EPERM. What is set here
 * belongs to the device: QPs of all processes use it, and it outlives the process that set it.
 *
 * Profiles. Each has a numeric id, which programs learn out of band; the device limits how many
 * there are. A profile goes INIT -> OFFLINE -> ONLINE and back the same way; INIT forgets what was
 * set, and ONLINE is what a QP can use. A step is asked for by setting profile_state, in the same
 * call as other attributes or later: what a step needs may have been given by earlier calls. Query
 * functions take the same masks and give back what is in force.
 *
 * Errors of the profile functions:
 *   EINVAL    an attribute, value or operation not allowed in this state, something a step needs is
 *             missing, an unknown mask bit, an id out of range, a modifying operation in a query
 *   ENOENT    an EV named by an entry is not in the profile
 *   E2BIG     an array or a format is too large; by a query: the array given is too small, and the
 *             number needed has been written to its count
 *   EBUSY     an ONLINE profile or an active QP uses it
 *   EPERM     no privilege
 *   EIO       the device failed
 * Operations on several entries stop at the first that fails; those before it have taken effect.
 */
#ifndef MRC_CTL_H
#define MRC_CTL_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "mrc.h"
#include "mrc_ctl_api_ver.h"

/*
 * The version a program is written for, as MRC_API_VER_USED in mrc.h but on its own: a program that
 * asks for 1.0.0 sets both, since struct mrc_ctl_ev_event follows this macro in the program and the
 * version given to mrc_create_context() in the library.
 */
#ifndef MRC_CTL_API_VER_USED
#define MRC_CTL_API_VER_USED MRC_CTL_API_CURRENT_VERSION
#elif MRC_CTL_API_VER_USED == MRC_CTL_API_VER_LATEST
#undef MRC_CTL_API_VER_USED
#define MRC_CTL_API_VER_USED MRC_CTL_API_CURRENT_VERSION
#elif MRC_CTL_API_VER_USED > MRC_CTL_API_CURRENT_VERSION
#error "MRC_CTL_API_VER_USED is newer than this mrc_ctl.h"
#endif

#ifndef MRC_CTL_VENDOR_API_VER_USED
#define MRC_CTL_VENDOR_API_VER_USED MRC_CTL_VENDOR_API_CURRENT_VERSION
#elif MRC_CTL_VENDOR_API_VER_USED == MRC_CTL_API_VER_LATEST
#undef MRC_CTL_VENDOR_API_VER_USED
#define MRC_CTL_VENDOR_API_VER_USED MRC_CTL_VENDOR_API_CURRENT_VERSION
#elif MRC_CTL_VENDOR_API_VER_USED > MRC_CTL_VENDOR_API_CURRENT_VERSION
#error "MRC_CTL_VENDOR_API_VER_USED is newer than this mrc_ctl.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes in a vendor_cfg array; content as in mrc.h. */
#define MRC_CTL_MAX_VENDOR_CFG_SIZE 128
/* Bytes in an EV: 256 bits, the widest format. */
#define MRC_CTL_EV_MAX_BYTES 32

/* ---- Devices ------------------------------------------------------------------------- */

/* A bit mask where a device tells what it has. */
enum mrc_ctl_protocol_version {
  MRC_CTL_PROTOCOL_VERSION_0 = 0,
  MRC_CTL_PROTOCOL_VERSION_1 = 1 << 0,
};

/* What a device can do beyond what each must. */
enum mrc_ctl_attr_opt {
  /* An ONLINE profile takes changes, not only a change of state. */
  MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE = 1 << 0,
  MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE = 1 << 1,
  /* Reports changes of EV state. */
  MRC_CTL_OPT_CAP_EV_EVENT = 1 << 2,
  /* Explicit profiles may restrict values by min_val and max_val of their fields. */
  MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE = 1 << 3,
  /* drop_count of an EV event is exact; else it only tells that something was lost. */
  MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT = 1 << 4,
  /* Can send EV probes on a controller's behalf. */
  MRC_CTL_OPT_CAP_EP_OP_EV_PROBE = 1 << 5,
};

struct mrc_ctl_device_attr {
  /* OR of enum mrc_ctl_protocol_version. */
  uint32_t mrc_ctl_protocol_version;
  struct {
    uint32_t ev_max_fmt_profiles;
    uint32_t ev_max_profiles;
    /* EVs of all profiles together: at most, and still to be had. */
    uint32_t ev_max_count;
    uint32_t ev_free_count;
    /* EVs of one profile: at most, and what its ev_count is a multiple of. */
    uint32_t ev_max_count_profile;
    uint32_t ev_count_align;
    /* Bits of the widest format. */
    uint32_t ev_max_width;
    /* OR of enum mrc_ctl_ev_fmt_mode, and of enum mrc_ctl_ev_mode. */
    uint32_t ev_fmt_mode_mask;
    uint32_t ev_mode_mask;
    /* Entries that one ev_op takes. */
    uint32_t ev_op_max_entries;
  } ev;
  struct {
    uint32_t cc_max_profiles;
    /* Names, the last followed by a NULL; they stay the library's. "uet-1.0-nscc" is NSCC as in
     * UET 1.0. */
    const char** algorithms;
  } cc;
  /* Bit p set: port p exists. Ports count from 1. */
  uint32_t phy_port_mask;
  /* OR of enum mrc_ctl_attr_opt. */
  uint32_t opt_attr;
};

/* ---- Ports --------------------------------------------------------------------------- */

enum mrc_ctl_port_admin_state {
  MRC_CTL_PORT_ADMIN_DISABLED = 0,
  MRC_CTL_PORT_ADMIN_ENABLED = 1,
};

struct mrc_ctl_port_attr {
  enum mrc_ctl_port_admin_state port_admin_state;
};

/* Which members of struct mrc_ctl_port_attr a call is about. */
enum mrc_ctl_port_attr_mask {
  MRC_CTL_PORT_ADMIN_STATE = 1 << 0,
};

/* ---- Profiles ------------------------------------------------------------------------ */

enum mrc_ctl_profile_state {
  MRC_CTL_PROFILE_INIT = 0,
  MRC_CTL_PROFILE_OFFLINE = 1,
  MRC_CTL_PROFILE_ONLINE = 2,
};

/* ---- EV format profiles: how an EV's bits are cut into fields ------------------------ */

/* Where an EV is carried. A bit mask where a device tells what it has. */
enum mrc_ctl_ev_fmt_mode {
  /* Source port and flow label; widths sum to at most 32 bits. */
  MRC_CTL_EV_FMT_MODE_STEV = 1 << 0,
  /* Outer IPv6 address of uSIDs: at most 128 bits; with one SRH segment more, at most 256. */
  MRC_CTL_EV_FMT_MODE_SRV6 = 1 << 1,
  /* UDP source port: at most 16 bits. */
  MRC_CTL_EV_FMT_MODE_UDP = 1 << 2,
};

/* One field of a format; the first is the most significant. */
struct mrc_ctl_ev_fmt_field {
  /* Bits, 1..32. */
  uint8_t width;
};

enum mrc_ctl_ev_fmt_op {
  MRC_CTL_EV_FMT_OP_MODIFY_FIELDS = 0,
  MRC_CTL_EV_FMT_OP_QUERY_FIELDS = 1,
};

/*
 * OFFLINE needs ev_fmt_mode, ONLINE needs the fields. OFFLINE: everything may be set. ONLINE: only
 * the way back. Everything may be queried in both.
 */
struct mrc_ctl_ev_fmt_profile_attr {
  /* The state asked for; by a query, the one asked for last. */
  enum mrc_ctl_profile_state profile_state;
  /* Query only: the state it is in. */
  enum mrc_ctl_profile_state cur_profile_state;
  enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
  struct {
    enum mrc_ctl_ev_fmt_op op;
    /* Array of fmt_field_count; a query writes the count that there is. */
    struct mrc_ctl_ev_fmt_field* fmt_fields;
    int fmt_field_count;
  } ev_fmt_op;
  uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* Which members of struct mrc_ctl_ev_fmt_profile_attr a call is about. */
enum mrc_ctl_ev_fmt_profile_attr_mask {
  MRC_CTL_EV_FMT_PROFILE_STATE = 1 << 0,
  MRC_CTL_EV_FMT_PROFILE_CUR_STATE = 1 << 1,
  MRC_CTL_EV_FMT_PROFILE_MODE = 1 << 2,
  MRC_CTL_EV_FMT_PROFILE_OP = 1 << 3,
  MRC_CTL_EV_FMT_VENDOR_CFG = -0x7fffffff - 1, /* bit 31 */
};

/* ---- EV profiles: the set of EVs that a QP sprays over ------------------------------- */

/* Raw bits of an EV, left-aligned: the first is the most significant bit of byte 0. */
typedef uint8_t mrc_ctl_ev_t[MRC_CTL_EV_MAX_BYTES];

/* A value and the port it leaves by, from 1. Port 0 with value 0: a place not filled yet. */
struct mrc_ctl_ev {
  mrc_ctl_ev_t val;
  uint8_t port;
};

#ifdef __cplusplus
#define MRC_CTL_EV_UNPOPULATED (mrc_ctl_ev())
#else
#define MRC_CTL_EV_UNPOPULATED ((struct mrc_ctl_ev){{0}, 0})
#endif

/* A bit mask in ev_event_mask. */
enum mrc_ctl_ev_state {
  MRC_CTL_EV_GOOD = 1 << 0,
  /* Taken out of use by the device, which probes it. */
  MRC_CTL_EV_ASSUMED_BAD = 1 << 1,
  /* Taken out of use by the controller, which alone can bring it back. */
  MRC_CTL_EV_DENIED = 1 << 2,
  /* Query only: no QP uses the profile. */
  MRC_CTL_EV_UNKNOWN = -0x7fffffff - 1, /* bit 31 */
};

/* Who makes the EVs. A bit mask where a device tells what it has. */
enum mrc_ctl_ev_mode {
  /* The device, as it likes; no format. */
  MRC_CTL_EV_MODE_AUTO = 1 << 0,
  /* The controller, one by one. */
  MRC_CTL_EV_MODE_EXP = 1 << 1,
  /* The device, by counting through the fields: the last field fastest, ports in turn. */
  MRC_CTL_EV_MODE_GEN = 1 << 2,
};

/*
 * How one format field is made from an EV's raw bits. It starts as init_val; the set bits of mask,
 * from the most significant on, take the next raw bits. mask = min_val = max_val = 0: always
 * init_val.
 */
struct mrc_ctl_ev_field {
  /* Bits; laid right-aligned into the format field, which is at least as wide in all. */
  uint32_t width;
  uint32_t init_val;
  /* The raw bits taken, as a number: min_val <= value <= max_val <= 2^popcount(mask) - 1. */
  uint32_t min_val;
  uint32_t max_val;
  uint32_t mask;
};

enum mrc_ctl_ev_op {
  /* Puts ev_new, in state, where ev stands. */
  MRC_CTL_EV_OP_REPLACE_EV = 0,
  /* Sets ev to state, GOOD or DENIED. */
  MRC_CTL_EV_OP_MODIFY_EV_STATE = 1,
  /* Gives the state of ev. */
  MRC_CTL_EV_OP_QUERY_EV_STATE = 2,
  /* Gives ev and state of each place in order. */
  MRC_CTL_EV_OP_QUERY_EV_ARRAY = 3,
};

enum mrc_ctl_ev_op_flags {
  /* Act on every place that holds ev; else on one of them, whichever. */
  MRC_CTL_EV_OP_F_ALL_COPIES = 1 << 0,
};

struct mrc_ctl_ev_op_entry {
  struct mrc_ctl_ev ev;
  /* REPLACE_EV only. */
  struct mrc_ctl_ev ev_new;
  enum mrc_ctl_ev_state state;
  /* OR of enum mrc_ctl_ev_op_flags. */
  uint32_t flags;
};

enum mrc_ctl_ev_fields_op {
  MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS = 0,
  MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS = 1,
};

/*
 * AUTO needs ev_mode only. Else OFFLINE needs ev_mode, ev_fmt_profile_id, ev_count and, for
 * generated EVs, the fields (without them explicit EVs are taken as the format lays them out);
 * ONLINE needs ev_min_active, ev_event_mask and, for explicit EVs, every place filled. Generated
 * profiles may go from INIT to ONLINE in one call that has all of it.
 *
 * OFFLINE: everything may be set. ONLINE: the way back and MODIFY_EV_STATE; with
 * MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE also ev_event_mask, REPLACE_EV and MODIFY_FIELDS.
 * Everything may be queried in both. ev_op and ev_fields_op exclude each other in one call.
 */
struct mrc_ctl_ev_profile_attr {
  /* The state asked for; by a query, the one asked for last. */
  enum mrc_ctl_profile_state profile_state;
  /* Query only: the state it is in. */
  enum mrc_ctl_profile_state cur_profile_state;
  enum mrc_ctl_ev_mode ev_mode;
  /* The format of its EVs. */
  uint64_t ev_fmt_profile_id;
  /* EVs; written back as adjusted to the device's alignment. */
  uint32_t ev_count;
  /* EVs a QP keeps using however bad they are, at most ev_count. */
  uint32_t ev_min_active;
  /* States whose entry raises an event: OR of MRC_CTL_EV_GOOD and MRC_CTL_EV_ASSUMED_BAD. */
  int ev_event_mask;
  struct {
    enum mrc_ctl_ev_op op;
    /* Array of entry_count; QUERY_EV_ARRAY writes the count that there is. */
    struct mrc_ctl_ev_op_entry* entries;
    int entry_count;
  } ev_op;
  struct {
    enum mrc_ctl_ev_fields_op op;
    /* Array of field_count, no more than the format has; a query writes the count that there is. */
    struct mrc_ctl_ev_field* fields;
    int field_count;
  } ev_fields_op;
  uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* Which members of struct mrc_ctl_ev_profile_attr a call is about. */
enum mrc_ctl_ev_profile_attr_mask {
  MRC_CTL_EV_PROFILE_STATE = 1 << 0,
  MRC_CTL_EV_PROFILE_CUR_STATE = 1 << 1,
  MRC_CTL_EV_PROFILE_MODE = 1 << 2,
  MRC_CTL_EV_PROFILE_FMT_ID = 1 << 3,
  MRC_CTL_EV_PROFILE_COUNT = 1 << 4,
  MRC_CTL_EV_PROFILE_MIN_ACTIVE = 1 << 5,
  MRC_CTL_EV_PROFILE_EVENT_MASK = 1 << 6,
  MRC_CTL_EV_PROFILE_EV_OP = 1 << 7,
  MRC_CTL_EV_PROFILE_EV_FIELDS_OP = 1 << 8,
  MRC_CTL_EV_PROFILE_VENDOR_CFG = -0x7fffffff - 1, /* bit 31 */
};

/* ---- CC profiles: congestion control ------------------------------------------------- */

/* OFFLINE needs algorithm, ONLINE needs cc_config. ONLINE with
 * MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE: cc_config may be set. */
struct mrc_ctl_cc_profile_attr {
  /* The state asked for; by a query, the one asked for last. */
  enum mrc_ctl_profile_state profile_state;
  /* Query only: the state it is in. */
  enum mrc_ctl_profile_state cur_profile_state;
  /* One of the device's names, or NULL for no congestion control. By a query: the library's. */
  const char* algorithm;
  /* The algorithm's own structure; struct mrc_ctl_cc_nscc_cfg for "uet-1.0-nscc". By a query:
   * memory of the caller, which is written to. */
  const void* cc_config;
  uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* Which members of struct mrc_ctl_cc_profile_attr a call is about. */
enum mrc_ctl_cc_profile_attr_mask {
  MRC_CTL_CC_PROFILE_STATE = 1 << 0,
  MRC_CTL_CC_PROFILE_CUR_STATE = 1 << 1,
  MRC_CTL_CC_PROFILE_ALGORITHM = 1 << 2,
  MRC_CTL_CC_PROFILE_CONFIG = 1 << 3,
  MRC_CTL_CC_PROFILE_VENDOR_CFG = -0x7fffffff - 1, /* bit 31 */
};

/*
 * NSCC (UET 1.0). 0 in a member: its default, which for most depends on line rate and base_rtt.
 * Negative or not a number, gamma or max_md_jump above 1, qa_gate above 63, max_cwnd below one
 * packet of the device's largest path MTU with its headers: EINVAL.
 */
struct mrc_ctl_cc_nscc_cfg {
  /* Not 0: no quick adapt. */
  uint8_t disable_qa;
  /* The window is recomputed after so many bytes received, or after so many ns. */
  uint32_t adjust_bytes_threshold;
  uint32_t adjust_period_threshold;
  /* Round trip of a full packet on the longest idle path, ns. */
  uint32_t base_rtt;
  /* Bytes added to the window in every period. */
  float eta;
  /* Fair increase, bytes. */
  float fi;
  /* Fast increase, per byte received. */
  float fi_scale;
  /* Weight of the multiplicative decrease, and the smallest factor it may have. */
  float gamma;
  float max_md_jump;
  /* Bytes. */
  uint32_t max_cwnd;
  /* Quick adapt acts below max_cwnd / 2^qa_gate bytes received per period ... */
  uint8_t qa_gate;
  /* ... and above so much queueing delay, ns, or on loss. */
  uint32_t qa_threshold;
  /* Queueing delay aimed at, ns. */
  uint32_t target_delay;
};

/* ---- EV events ----------------------------------------------------------------------- */

/* A QP's EV changed its state: 56 bytes, or 48 for programs of version 1.0.0. */
struct mrc_ctl_ev_event {
  uint64_t profile_id;
  struct mrc_ctl_ev ev;
  /* Events lost before this one, and since the last one got, because the CQ was full. */
  uint32_t drop_count;
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
  /* The state entered. */
  enum mrc_ctl_ev_state state;
#endif
};

/* ---- Endpoint operations: node to node, without a QP --------------------------------- */

/* The numbers of this interface, which are not those on the wire. */
enum mrc_ctl_ep_op_type {
  MRC_CTL_EP_OP_EV_PROBE = 0,
  MRC_CTL_EP_OP_PORT_STATUS_UPDATE = 1,
};

struct mrc_ctl_ep_req {
  /* The caller's choice; its answer carries it. */
  uint16_t req_id;
  union ibv_gid sgid;
  union ibv_gid dgid;
  /* How req_ev is to be read; it also says the port to send from. */
  enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
  struct mrc_ctl_ev req_ev;
  union {
    struct {
      /* Bit p set: our port p is usable. Bit 0 is unused. */
      uint32_t port_status;
    } port_status_update;
  } op;
};

struct mrc_ctl_ep_rsp {
  uint16_t req_id;
  /* The port the answer came in by. */
  uint8_t port;
  /* From sending the request to its answer, ns. */
  unsigned int rtt;
  /* Not 0: the time that the responder held the request has been taken out of rtt. */
  uint8_t adj_svc_time;
};

/* The library exports these whatever a translation unit's own default visibility is. */
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Fills ctl_attr with what the device can do. Errors: EOPNOTSUPP not an MRC device. */
int mrc_ctl_query_device(struct ibv_context* context, struct mrc_ctl_device_attr* ctl_attr);

#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
/* The same as seen from an MRC context of that device (optional). *supported becomes 1, or 0 if the
 * device does not speak MRC; then ctl_attr is not written, and the call has still succeeded. */
int mrc_ctl_query_device_ex(struct ibv_context* context, struct mrc_context* mcontext,
                            struct mrc_ctl_device_attr* ctl_attr, int* supported);
#endif

/* Versions of this interface in the library in use, encoded as by MRC_CTL_API_VER(). Each pointer
 * is optional. */
void mrc_ctl_query_version(uint32_t* current_version, uint32_t* last_supported_version,
                           uint32_t* vendor_version, uint32_t* last_supported_vendor_version);

/*
 * Reads, or sets, the members named by the mask (enum mrc_ctl_port_attr_mask) of a port, from 1. A
 * disabled port is IBV_PORT_DOWN: all QPs stop using its plane, and their peers are told.
 * Errors: EINVAL, EPERM, EIO.
 */
int mrc_ctl_query_port(struct mrc_context* context, uint8_t port_num,
                       struct mrc_ctl_port_attr* attr, int attr_mask);
int mrc_ctl_modify_port(struct mrc_context* context, uint8_t port_num,
                        struct mrc_ctl_port_attr* attr, int attr_mask);

/* The profile functions. attr_mask is the enum that belongs to attr. See above for their errors. */
int mrc_ctl_modify_ev_fmt_profile(struct mrc_context* mrc_ctx, uint64_t ev_fmt_profile_id,
                                  struct mrc_ctl_ev_fmt_profile_attr* attr, int attr_mask);
int mrc_ctl_query_ev_fmt_profile(struct mrc_context* mrc_ctx, uint64_t ev_fmt_profile_id,
                                 struct mrc_ctl_ev_fmt_profile_attr* attr, int attr_mask);
int mrc_ctl_modify_ev_profile(struct mrc_context* mrc_ctx, uint64_t ev_profile_id,
                              struct mrc_ctl_ev_profile_attr* attr, int attr_mask);
int mrc_ctl_query_ev_profile(struct mrc_context* mrc_ctx, uint64_t ev_profile_id,
                             struct mrc_ctl_ev_profile_attr* attr, int attr_mask);
int mrc_ctl_modify_cc_profile(struct mrc_context* mrc_ctx, uint64_t cc_profile_id,
                              struct mrc_ctl_cc_profile_attr* attr, int attr_mask);
int mrc_ctl_query_cc_profile(struct mrc_context* mrc_ctx, uint64_t cc_profile_id,
                             struct mrc_ctl_cc_profile_attr* attr, int attr_mask);

/*
 * Makes a CQ that receives the EV events of the device, from the QPs of every process. Arguments
 * and destruction as for mrc_create_cq(); when it is full it loses events, counts them, and lives
 * on. Errors: EINVAL, ENOMEM, EPERM, EOPNOTSUPP no EV events here.
 */
struct mrc_cq* mrc_ctl_create_ev_event_cq(struct mrc_context* mrc_ctx, int cqe, void* cq_context,
                                          struct mrc_comp_channel* channel, int comp_vector);

/*
 * Takes up to num_entries events, oldest first, and returns how many; on failure the negative of an
 * errno value. ev_event is an array of the structure as the program knows it: the library steps
 * through it by the version that was given to mrc_create_context().
 */
int mrc_ctl_poll_ev_event(struct mrc_cq* ev_cq, int num_entries, struct mrc_ctl_ev_event* ev_event);

/*
 * Sends num_req requests in traffic class req_tc (a DSCP, 0..63) and waits until all are answered
 * or rsp_timeout ns have passed. rsp has room for num_req; *num_rsp is how many answers it then
 * holds, in order of arrival, also when the call fails. Answers that come later are not kept.
 * Errors: ETIMEDOUT some are missing; ENODEV no process has the device's ports open; EINVAL, EPERM,
 * EIO.
 */
int mrc_ctl_ep_batch_send_wait(struct mrc_context* mrc_ctx, uint8_t req_tc,
                               enum mrc_ctl_ep_op_type op_type, struct mrc_ctl_ep_req* req,
                               int num_req, uint32_t rsp_timeout, struct mrc_ctl_ep_rsp* rsp,
                               int* num_rsp);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* MRC_CTL_H */
