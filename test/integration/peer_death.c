/*
 * What a program sees when its peer is killed in the middle of a transfer, and that it can go on
 * with the next one.
 *
 *   peer_death DEVICE PORT            survives: writes to a first peer until that one dies, checks
 * what completes and how, then serves a second peer on the same port peer_death DEVICE PORT HOST is
 * a peer: the first waits to be killed, the second checks what it gets and writes it back
 *
 * Every request completes, in order and once: those before the death with success, one with
 * IBV_WC_RETRY_EXC_ERR within the retry time of the QP, the others with IBV_WC_WR_FLUSH_ERR; no
 * member of a completion keeps what was in it before.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs_end.h"

enum {
  SLOTS = 64, /* writes outstanding */
  SLOT_BYTES = 65536,
  RECEIVES = 8,
  RETRIED = 0x81, /* vendor_err of the one cause */
  FLUSHED = 0xf9,
  UNTOUCHED = 0xa5,
  PATIENCE_SECONDS = 30,
  /* ibv_qp_attr: 7 retries at a distance of 1.024 us * 2^12; the 7 more that a QP has by default
   * double it each time. All in all 7 + 2 + 4 + ... + 256 times that distance. */
  TIMEOUT = 12,
  RETRY_COUNT = 7,
};
static const double kRetrySeconds = 517 * 1.024e-6 * (1 << TIMEOUT);
static const double kLateSeconds = 2; /* what a busy machine may add */
static const uint64_t kFirstReceive = 1u << 20;

static uint8_t memory[SLOTS][SLOT_BYTES];

static void expect(bool ok, const char* what) {
  if (!ok) give_up_with(EPROTO, what);
}

static uint8_t pattern(size_t at, uint8_t seed) {
  return (uint8_t)((at * 2654435761u >> 13) + seed);
}

static void fill(uint8_t seed) {
  for (size_t at = 0; at < sizeof memory; ++at) (&memory[0][0])[at] = pattern(at, seed);
}

static void verify(uint8_t seed) {
  for (size_t at = 0; at < sizeof memory; ++at)
    expect((&memory[0][0])[at] == pattern(at, seed), "wrong data");
}

/* --- Completions --------------------------------------------------------------------------------
 */

enum { BATCH = 4 };

/* Polls into memory that holds something else. */
static int poll_cq(struct end* e, struct ibv_wc* wc) {
  memset(wc, UNTOUCHED, BATCH * sizeof *wc);
  const int taken = ibv_poll_cq(e->cq, BATCH, wc);
  if (taken < 0) give_up("ibv_poll_cq");
  return taken;
}

static void check_members(const struct end* e, const struct ibv_wc* wc, bool send) {
  expect(wc->qp_num == e->own.qpn, "qp_num");
  expect(wc->opcode == (send ? IBV_WC_RDMA_WRITE : IBV_WC_RECV_RDMA_WITH_IMM), "opcode");
  expect(send || wc->src_qp == e->peer.qpn, "src_qp of a receive");
  expect(!send || wc->src_qp == 0, "src_qp of a send");
  expect(wc->byte_len == (send ? SLOT_BYTES : 0u), "byte_len");
  expect(wc->imm_data == 0 && wc->wc_flags == 0, "imm_data or wc_flags");
  expect(wc->pkey_index == 0 && wc->slid == 0 && wc->sl == 0 && wc->dlid_path_bits == 0,
         "pkey_index, slid, sl or dlid_path_bits");
}

/* What has completed of a QP. */
struct outcome {
  uint64_t sends, receives; /* completions so far: the number of the next */
  uint64_t retried, flushed;
};

static void take(const struct end* e, const struct ibv_wc* wc, struct outcome* o) {
  const bool send = wc->wr_id < kFirstReceive;
  expect(wc->wr_id == (send ? o->sends++ : kFirstReceive + o->receives++), "order");
  check_members(e, wc, send);
  switch (wc->status) {
    case IBV_WC_SUCCESS:
      expect(send && o->retried + o->flushed == 0 && wc->vendor_err == 0, "a late success");
      return;
    case IBV_WC_RETRY_EXC_ERR:
      expect(send && o->retried + o->flushed == 0 && wc->vendor_err == RETRIED, "the one cause");
      ++o->retried;
      return;
    default:
      expect(wc->status == IBV_WC_WR_FLUSH_ERR && wc->vendor_err == FLUSHED, "a flushed request");
      expect(!send || o->retried == 1, "flushed before the cause");
      ++o->flushed;
  }
}

/* How many there were. */
static int take_some(struct end* e, struct outcome* o) {
  struct ibv_wc wc[BATCH];
  const int taken = poll_cq(e, wc);
  for (int i = 0; i < taken; ++i) take(e, &wc[i], o);
  return taken;
}

static void check_event(struct end* e) {
  struct pollfd entry = {.fd = e->verbs->async_fd, .events = POLLIN};
  unsigned fatal = 0;
  /* Ports whose peer is gone tell too. */
  while (poll(&entry, 1, fatal == 0 ? 1000 : 50) == 1) {
    struct ibv_async_event event;
    memset(&event, UNTOUCHED, sizeof event);
    if (ibv_get_async_event(e->verbs, &event) != 0) give_up("ibv_get_async_event");
    if (event.event_type == IBV_EVENT_QP_FATAL) {
      expect(event.element.qp == e->qp, "IBV_EVENT_QP_FATAL of another QP");
      ++fatal;
    } else {
      expect(event.event_type == IBV_EVENT_PORT_ERR || event.event_type == IBV_EVENT_PORT_ACTIVE ||
                 event.event_type == IBV_EVENT_COMM_EST,
             "another event");
    }
    ibv_ack_async_event(&event);
  }
  expect(fatal == 1, "IBV_EVENT_QP_FATAL, once");
}

/* --- The survivor -------------------------------------------------------------------------------
 */

static void post(struct end* e, uint64_t id) {
  const int error = post_write(e, id, id % SLOTS * SLOT_BYTES, SLOT_BYTES, IBV_SEND_SIGNALED);
  if (error != 0) give_up_with(error, "ibv_post_send");
}

static void post_receives(struct end* e) {
  for (uint64_t i = 0; i < RECEIVES; ++i) {
    struct ibv_recv_wr wr = {.wr_id = kFirstReceive + i};
    struct ibv_recv_wr* bad;
    const int error = ibv_post_recv(e->qp, &wr, &bad);
    if (error != 0) give_up_with(error, "ibv_post_recv");
  }
}

/* Writes on and on until something fails. Returns how many were posted. */
static uint64_t write_until_failure(struct end* e, struct outcome* o, double* progress) {
  uint64_t posted = 0;
  bool told = false;
  *progress = seconds();
  while (o->retried + o->flushed == 0) {
    for (; posted < o->sends + SLOTS; ++posted) post(e, posted);
    const uint64_t before = o->sends;
    take_some(e, o);
    if (o->sends > before && o->retried + o->flushed == 0) *progress = seconds();
    if (!told && o->sends >= SLOTS) {
      told = true;
      puts("in the middle of a transfer");
      fflush(stdout);
    }
    if (seconds() - *progress > PATIENCE_SECONDS) give_up_with(ETIMEDOUT, "nothing completes");
  }
  return posted;
}

/* The kernel closes a killed process's sockets last of all. */
static void await_death(int tcp) {
  char byte;
  const ssize_t got = recv(tcp, &byte, 1, 0);
  expect(got == 0 || (got < 0 && errno == ECONNRESET), "a failure while the peer lives");
}

static void lose_peer(struct end* e, int tcp) {
  create_qp(e, SLOTS, RECEIVES);
  connect_qp(e, tcp, TIMEOUT, RETRY_COUNT);
  post_receives(e);
  struct outcome o = {0};
  double progress;
  const uint64_t posted = write_until_failure(e, &o, &progress);
  const double waited = seconds() - progress;
  await_death(tcp);

  const double start = seconds();
  while (o.sends < posted || o.receives < RECEIVES) {
    take_some(e, &o);
    if (seconds() - start > PATIENCE_SECONDS)
      give_up_with(ETIMEDOUT, "a request does not complete");
  }
  check_event(e);
  expect(take_some(e, &o) == 0, "a completion too many");
  expect(o.retried == 1 && o.flushed == SLOTS - 1 + RECEIVES, "number of flushed requests");
  struct ibv_qp_attr attr;
  struct ibv_qp_init_attr init;
  expect(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init) == 0 && attr.qp_state == IBV_QPS_ERR,
         "state of the QP");
  printf("%" PRIu64 " writes done, 1 out of retries %.2f s after the last, %" PRIu64 " flushed\n",
         posted - SLOTS, waited, o.flushed);
  fflush(stdout);
  expect(waited < kRetrySeconds + kLateSeconds, "later than the retry time");
  expect(waited > kRetrySeconds / 2, "long before the retry time");
  destroy_qp(e);
}

/* Every slot once; all have arrived when it returns. */
static void write_all(struct end* e, int tcp) {
  struct outcome o = {0};
  for (uint64_t id = 0; id < SLOTS; ++id) post(e, id);
  const double start = seconds();
  while (o.sends < SLOTS) {
    take_some(e, &o);
    expect(o.retried + o.flushed == 0, "a write that fails");
    check_patience(tcp, start, PATIENCE_SECONDS, "writing");
  }
}

static void serve_next(struct end* e, int tcp) {
  const double start = seconds();
  create_qp(e, SLOTS, RECEIVES);
  connect_qp(e, tcp, TIMEOUT, RETRY_COUNT);
  fill(1);
  write_all(e, tcp);
  char done = 1;
  exchange(tcp, &done, &done, sizeof done); /* the peer has checked, and will write back */
  exchange(tcp, &done, &done, sizeof done); /* it has */
  verify(2);
  destroy_qp(e);
  printf("the next peer is served %.2f s after it came\n", seconds() - start);
}

static void survive(const char* device, const char* port) {
  struct end e;
  open_end(&e, device, memory, sizeof memory, 2 * SLOTS);
  const int listener = tcp_listen(port);
  for (int peer = 0; peer < 2; ++peer) {
    const int tcp = tcp_accept(listener);
    const char first = peer == 0;
    char ignored;
    exchange(tcp, &first, &ignored, sizeof first);
    if (first)
      lose_peer(&e, tcp);
    else
      serve_next(&e, tcp);
    close(tcp);
  }
  close_end(&e);
}

/* --- The peers ----------------------------------------------------------------------------------
 */

static void be_peer(const char* device, const char* port, const char* host) {
  struct end e;
  open_end(&e, device, memory, sizeof memory, 2 * SLOTS);
  const int tcp = tcp_connect(host, port);
  char ignored = 0;
  char first;
  exchange(tcp, &ignored, &first, sizeof first);
  create_qp(&e, SLOTS, RECEIVES);
  connect_qp(&e, tcp, TIMEOUT, RETRY_COUNT);
  const double start = seconds();
  while (first) { /* until it is killed */
    struct ibv_wc wc[BATCH];
    expect(poll_cq(&e, wc) == 0, "a completion at the first peer");
    check_patience(tcp, start, PATIENCE_SECONDS, "being killed");
  }
  char done = 1;
  exchange(tcp, &done, &done, sizeof done);
  verify(1);
  fill(2);
  write_all(&e, tcp);
  exchange(tcp, &done, &done, sizeof done);
  destroy_qp(&e);
  close_end(&e);
}

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    fputs("Usage: peer_death DEVICE PORT [HOST]\n", stderr);
    return EXIT_FAILURE;
  }
  if (argc == 3)
    survive(argv[1], argv[2]);
  else
    be_peer(argv[1], argv[2], argv[3]);
  return EXIT_SUCCESS;
}
