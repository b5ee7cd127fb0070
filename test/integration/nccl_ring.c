/*
 * What NCCL's network does over InfiniBand, over libmrc: a ring of processes, each with one device
 * and four QPs per neighbour, neither libibverbs nor libmrc linked. Data flows both ways round.
 *
 * For each message the receiver posts a receive without SGE on each QP and writes a control slot
 * of 64 bytes into the sender's memory: where to, how much, and last the message's number, for
 * which the sender polls its memory. It then cuts the message into a part per QP and posts each as
 * a chain, two unsignalled writes and a signalled one with immediate and no bytes; the immediates
 * of all four QPs tell the receiver that the message is there. Up to eight messages are under way
 * per direction. Whoever finds nothing to do yields, as NCCL's proxy thread does.
 *
 * Each message is a piece of the sender's text, from a place that depends on direction and number;
 * the receiver, who can write that text too, compares all bytes, and some beyond the end.
 *
 * Usage: nccl_ring LIBMRC RANK RANKS TCP_PORT, under mrc-run with two devices, mrc-left and
 * mrc-right; process RANK listens at TCP_PORT + RANK.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>

#include "dlopened.h"

enum { RIGHT, LEFT, NEIGHBOURS }; /* data to the right goes clockwise */
enum { QPS = 4, SLOTS = 8, GUARD = 64, SHIFTS = 4096, PATIENCE = 60 };
#define LARGEST ((size_t)512 << 20)
#define ARRIVAL_BYTES (LARGEST + 2 * SLOTS * GUARD)
#define CONTROL_WR_ID UINT64_MAX

static const size_t kSizes[] = {1,       8,       333,      4096,     32768,   262144,
                                2 << 20, 8 << 20, 32 << 20, 64 << 20, LARGEST, 0};

/* Written into the sender's memory, in ascending order: the number is there last. */
struct slot {
  uint64_t address, size;
  uint32_t rkey;
  uint8_t unused[36];
  uint64_t number; /* of the message, from 1 */
};
_Static_assert(sizeof(struct slot) == 64, "a cache line");

struct control {
  struct slot from_peer[SLOTS]; /* polled */
  struct slot to_peer[SLOTS];   /* what is written there */
};

struct neighbour_info {
  struct qp_address qps[QPS];
  uint64_t slots_address;
  uint32_t slots_rkey;
};

/* Messages of one direction: `begun` were posted or asked for, the first `done` are over. */
struct flow {
  uint64_t begun, done, end;
  unsigned parts_left[SLOTS];
};

struct neighbour {
  int socket;
  struct ibv_context* context;
  struct mrc_context* mrc_context;
  struct ibv_pd* pd;
  struct mrc_cq* cq;
  struct mrc_qp* qps[QPS];
  struct control* control;
  struct ibv_mr *control_mr, *source_mr, *arrivals_mr;
  struct neighbour_info own, peer;
  uint32_t peer_rank;
  struct flow out, in;
  uint8_t* arrivals; /* where the messages of this phase go */
};

/* Messages of one size, one way round or both. */
struct phase {
  size_t size;
  uint64_t messages;
  unsigned window;
};

static uint32_t rank;
static uint8_t* source;   /* the text of this rank */
static uint8_t* arrivals; /* of both directions */

/* --- Text ------------------------------------------------------------------------------------- */

static void write_text(uint8_t* to, size_t bytes, uint32_t author, uint64_t first_word) {
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = pattern_word(author, first_word + at / sizeof word);
    memcpy(to + at, &word, sizeof word);
  }
}

/* Where in the text a message begins. */
static size_t place_of(int direction, uint64_t number) {
  return (size_t)((2 * number + (unsigned)direction) * 61 % SHIFTS);
}

static void verify(const uint8_t* data, size_t bytes, uint32_t author, size_t place) {
  uint8_t text[4096 + sizeof(uint64_t)];
  for (size_t at = 0; at < bytes; at += 4096) {
    const size_t piece = bytes - at < 4096 ? bytes - at : 4096;
    const size_t word = sizeof(uint64_t);
    write_text(text, sizeof text, author, (place + at) / word);
    if (memcmp(data + at, text + place % word, piece) == 0) continue;
    fprintf(stderr, "rank %u: wrong data near byte %zu of %zu\n", rank, at, bytes);
    fail_with(EBADMSG, "verification");
  }
  for (size_t at = bytes; at < bytes + GUARD; ++at) {
    if (data[at] != 0xa5) fail_with(EBADMSG, "bytes beyond the end have changed");
  }
}

/* --- Setting up ------------------------------------------------------------------------------- */

static struct ibv_context* open_device(const char* name) {
  struct ibv_device** const list = verbs.get_device_list(NULL);
  if (list == NULL) fail("ibv_get_device_list");
  struct ibv_context* context = NULL;
  for (int i = 0; list[i] != NULL; ++i) {
    if (strcmp(verbs.get_device_name(list[i]), name) == 0) context = verbs.open_device(list[i]);
  }
  verbs.free_device_list(list);
  if (context == NULL) fail(name);
  return context;
}

static struct ibv_mr* register_data(struct neighbour* n, uint8_t* data, size_t bytes) {
  const unsigned access =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING;
  struct ibv_mr* const mr = verbs.reg_mr_iova2(n->pd, data, bytes, (uintptr_t)data, access);
  if (mr == NULL) fail("ibv_reg_mr_iova2");
  return mr;
}

static void create_neighbour(struct neighbour* n, const char* device, uint32_t peer_rank) {
  n->peer_rank = peer_rank;
  n->context = open_device(device);
  struct mrc_context_attr attr = {.mrc_api_version_used = MRC_API_VER_USED};
  n->mrc_context = mrc.create_context(n->context, &attr);
  if (n->mrc_context == NULL) fail("mrc_create_context");
  n->pd = verbs.alloc_pd(n->context);
  if (n->pd == NULL) fail("ibv_alloc_pd");
  /* How it is asked whether memory of GPUs can be registered. */
  errno = 0;
  if (verbs.reg_dmabuf_mr(n->pd, 0, 0, 0, -1, 0) != NULL || errno != EOPNOTSUPP) {
    fail("ibv_reg_dmabuf_mr without a buffer");
  }
  n->control = aligned_alloc(sizeof(struct slot), sizeof *n->control);
  if (n->control == NULL) fail("memory");
  memset(n->control, 0, sizeof *n->control);
  n->control_mr = (verbs.reg_mr)(n->pd, n->control, sizeof *n->control,
                                 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (n->control_mr == NULL) fail("ibv_reg_mr");
  n->source_mr = register_data(n, source, LARGEST + SHIFTS);
  n->arrivals_mr = register_data(n, arrivals, ARRIVAL_BYTES);
  n->own.slots_address = (uintptr_t)n->control->from_peer;
  n->own.slots_rkey = n->control_mr->rkey;

  struct ibv_port_attr port;
  memset(&port, 0, sizeof port);
  if (verbs.query_port(n->context, VERBS_PORT, (struct _compat_ibv_port_attr*)&port) != 0) {
    fail("ibv_query_port");
  }
  /* Per message and QP: a send that is signalled, a receive, and now and then a slot. */
  n->cq = mrc.create_cq(n->mrc_context, 3 * SLOTS * QPS, NULL, NULL, 0);
  if (n->cq == NULL) fail("mrc_create_cq");
  for (int q = 0; q < QPS; ++q) {
    struct mrc_qp_init_attr init = {
        .send_cq = n->cq,
        .recv_cq = n->cq,
        .cap = {.max_send_wr = 8 * SLOTS, .max_recv_wr = SLOTS, .max_send_sge = 1},
        .pd = n->pd,
        .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
        .protocol_version = MRC_PROTOCOL_VERSION_1,
    };
    n->qps[q] = mrc.create_qp(n->mrc_context, &init);
    if (n->qps[q] == NULL) fail("mrc_create_qp");
    struct qp_address* const address = &n->own.qps[q];
    address->mtu = port.active_mtu;
    address->psn = (uint32_t)(pattern_word(rank, (unsigned)q) & 0xffffff);
    if (mrc.get_qpn(n->qps[q], &address->qpn) != 0) fail("mrc_get_qpn");
    if (verbs.query_gid(n->context, VERBS_PORT, GID_INDEX, &address->gid) != 0) {
      fail("ibv_query_gid");
    }
  }
}

static void connect_neighbour(struct neighbour* n) {
  exchange(n->socket, &n->own, &n->peer, sizeof n->own, "exchanging addresses");
  for (int q = 0; q < QPS; ++q) {
    connect_qp(mrc.modify_qp, n->qps[q], &n->own.qps[q], &n->peer.qps[q]);
  }
  /* No packet may reach a QP that is not ready to receive. */
  char ready = 1;
  exchange(n->socket, &ready, &ready, 1, "waiting for the peer's QPs");
}

static void destroy_neighbour(struct neighbour* n) {
  char done = 1;
  exchange(n->socket, &done, &done, 1, "waiting for the peer's verdict");
  int error = 0;
  for (int q = 0; q < QPS && error == 0; ++q) error = mrc.destroy_qp(n->qps[q]);
  if (error == 0) error = mrc.destroy_cq(n->cq);
  if (error == 0) error = verbs.dereg_mr(n->control_mr);
  if (error == 0) error = verbs.dereg_mr(n->source_mr);
  if (error == 0) error = verbs.dereg_mr(n->arrivals_mr);
  if (error == 0) error = verbs.dealloc_pd(n->pd);
  if (error != 0) fail_with(error, "taking all down");
  if (mrc.destroy_context(n->mrc_context) != 0) fail("mrc_destroy_context");
  if (verbs.close_device(n->context) != 0) fail("ibv_close_device");
  free(n->control);
  close(n->socket);
}

/* --- Data path -------------------------------------------------------------------------------- */

static void post(struct neighbour* n, int q, struct ibv_send_wr* chain) {
  struct ibv_send_wr* bad = NULL;
  const int error = mrc.post_send(n->qps[q], chain, &bad);
  if (error != 0) fail_with(error, "mrc_post_send");
}

static uint8_t* arrival_of(const struct neighbour* n, const struct phase* phase, uint64_t number) {
  return n->arrivals + number % phase->window * (phase->size + GUARD);
}

/* Receiver: asks for the next message. */
static void ask(struct neighbour* n, const struct phase* phase) {
  const uint64_t number = n->in.begun++;
  uint8_t* const to = arrival_of(n, phase, number);
  memset(to + phase->size, 0xa5, GUARD);
  for (int q = 0; q < QPS; ++q) {
    struct ibv_recv_wr receive = {.wr_id = number};
    struct ibv_recv_wr* bad = NULL;
    if (mrc.post_recv(n->qps[q], &receive, &bad) != 0) fail("mrc_post_recv");
  }
  n->in.parts_left[number % SLOTS] = QPS;

  struct slot* const slot = &n->control->to_peer[number % SLOTS];
  *slot = (struct slot){.address = (uintptr_t)to,
                        .size = phase->size,
                        .rkey = n->arrivals_mr->rkey,
                        .number = number + 1};
  struct ibv_sge sge = {(uintptr_t)slot, sizeof *slot, n->control_mr->lkey};
  /* One of a round is signalled, so that the send queue gets its places back. */
  struct ibv_send_wr write = {
      .wr_id = CONTROL_WR_ID,
      .sg_list = &sge,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE,
      .send_flags = number % SLOTS == 0 ? IBV_SEND_SIGNALED : 0,
      .wr.rdma = {n->peer.slots_address + number % SLOTS * sizeof *slot, n->peer.slots_rkey}};
  post(n, 0, &write);
}

/* The slot of the next message to send; NULL: not there yet. */
static const struct slot* next_slot(const struct neighbour* n) {
  const struct slot* const slot = &n->control->from_peer[n->out.begun % SLOTS];
  return __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) == n->out.begun + 1 ? slot : NULL;
}

/* Sender: one chain per QP. */
static void send_message(struct neighbour* n, const struct slot* slot, const uint8_t* text) {
  const uint64_t number = n->out.begun++;
  n->out.parts_left[number % SLOTS] = QPS;
  const uint64_t whole = (slot->size + 2 * QPS - 1) / (2 * QPS); /* of two writes per QP */
  uint64_t at = 0;
  for (int q = 0; q < QPS; ++q) {
    struct ibv_sge sges[2];
    struct ibv_send_wr chain[3];
    memset(chain, 0, sizeof chain);
    for (int w = 0; w < 2; ++w) {
      const uint64_t bytes = slot->size - at < whole ? slot->size - at : whole;
      sges[w] = (struct ibv_sge){(uintptr_t)text + at, (uint32_t)bytes, n->source_mr->lkey};
      chain[w] = (struct ibv_send_wr){.next = &chain[w + 1],
                                      .sg_list = &sges[w],
                                      .num_sge = bytes != 0,
                                      .opcode = IBV_WR_RDMA_WRITE,
                                      .wr.rdma = {slot->address + at, slot->rkey}};
      at += bytes;
    }
    chain[2].wr_id = number;
    chain[2].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    chain[2].send_flags = IBV_SEND_SIGNALED;
    chain[2].imm_data = htonl((uint32_t)number);
    post(n, q, chain);
  }
}

static void take_completion(struct neighbour* n, const struct ibv_wc* wc) {
  if (wc->status != IBV_WC_SUCCESS) {
    fprintf(stderr, "rank %u: completion %" PRIu64 ": %s, vendor error %u\n", rank, wc->wr_id,
            verbs.wc_status_str(wc->status), wc->vendor_err);
    fail_with(EIO, "completion");
  }
  if (wc->wr_id == CONTROL_WR_ID) return;
  const bool received = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
  struct flow* const flow = received ? &n->in : &n->out;
  unsigned* const parts_left = &flow->parts_left[wc->wr_id % SLOTS];
  if (wc->wr_id < flow->done || wc->wr_id >= flow->begun || *parts_left == 0 ||
      (received && (ntohl(wc->imm_data) != (uint32_t)wc->wr_id || wc->byte_len != 0))) {
    fail_with(EPROTO, "unexpected completion");
  }
  --*parts_left;
}

static bool all_parts_done(const struct flow* flow) {
  return flow->done < flow->begun && flow->parts_left[flow->done % SLOTS] == 0;
}

/* One turn; whether it found anything to do. Where nothing is outstanding no CQ is polled: the
 * slots are memory, and no completion tells of them. */
static bool turn(struct neighbour* n, int direction, const struct phase* phase) {
  bool busy = false;
  while (n->in.begun < n->in.end && n->in.begun - n->in.done < phase->window) {
    ask(n, phase);
    busy = true;
  }
  const struct slot* slot;
  while (n->out.begun < n->out.end && n->out.begun - n->out.done < SLOTS &&
         (slot = next_slot(n)) != NULL) {
    if (slot->size != phase->size) fail_with(EPROTO, "control slot");
    send_message(n, slot, source + place_of(direction, n->out.begun));
    busy = true;
  }
  if (n->in.begun != n->in.done || n->out.begun != n->out.done) {
    struct ibv_wc wcs[16];
    const int count = mrc.poll_cq(n->cq, 16, wcs);
    if (count < 0) fail("mrc_poll_cq");
    for (int i = 0; i < count; ++i) take_completion(n, &wcs[i]);
    busy |= count > 0;
  }
  while (all_parts_done(&n->out)) ++n->out.done;
  while (all_parts_done(&n->in)) {
    /* What a neighbour sends us goes the other way round than what we send it. */
    verify(arrival_of(n, phase, n->in.done), phase->size, n->peer_rank,
           place_of(!direction, n->in.done));
    ++n->in.done;
  }
  return busy;
}

static bool over(const struct neighbour* n) {
  return n->out.done == n->out.end && n->in.done == n->in.end;
}

static void run_phase(struct neighbour* neighbours, const struct phase* phase) {
  double idle_since = seconds();
  unsigned idle_turns = 0;
  while (!over(&neighbours[RIGHT]) || !over(&neighbours[LEFT])) {
    bool busy = turn(&neighbours[RIGHT], RIGHT, phase);
    busy |= turn(&neighbours[LEFT], LEFT, phase);
    if (busy) {
      idle_turns = 0;
      continue;
    }
    if (idle_turns++ == 0) idle_since = seconds();
    if (idle_turns % 4096 == 0) {
      for (int i = 0; i < NEIGHBOURS; ++i) {
        check_patience(neighbours[i].socket, idle_since, PATIENCE, "waiting for a neighbour");
      }
    }
    sched_yield();
  }
}

/* Both ways at once, each with half of the memory, or one after the other, each with all. */
static void run_size(struct neighbour* neighbours, size_t size) {
  const size_t half = ARRIVAL_BYTES / 2;
  const bool both = (size + GUARD) * SLOTS <= half;
  const size_t room = (both ? half : ARRIVAL_BYTES) / (size + GUARD);
  struct phase phase = {.size = size, .window = room < SLOTS ? (unsigned)room : SLOTS};
  phase.messages = size <= (1 << 20) ? 64 : phase.window;
  for (int ways = both ? 3 : 1; ways <= (both ? 3 : 2); ++ways) {
    for (int direction = RIGHT; direction <= LEFT; ++direction) {
      if ((ways & 1 << direction) == 0) continue;
      neighbours[direction].out.end += phase.messages;
      neighbours[!direction].in.end += phase.messages;
      neighbours[!direction].arrivals = arrivals + (both && direction == LEFT ? half : 0);
    }
    const double start = seconds();
    run_phase(neighbours, &phase);
    const double sent = (double)phase.messages * (double)size * (both ? 2 : 1);
    printf("%10zu bytes %3" PRIu64 " messages %2u outstanding %-9s %9.2f MB/s\n", size,
           phase.messages, phase.window, both ? "both ways" : (ways == 1 ? "clockwise" : "back"),
           sent / (seconds() - start) * 1e-6);
  }
}

int main(int argc, char** argv) {
  if (argc != 5) fail_with(EINVAL, "LIBMRC RANK RANKS TCP_PORT");
  rank = (uint32_t)atoi(argv[2]);
  const uint32_t ranks = (uint32_t)atoi(argv[3]);
  const uint32_t right = (rank + 1) % ranks;
  const uint32_t left = (rank + ranks - 1) % ranks;
  const int port = atoi(argv[4]);
  load_calls(argv[1]);

  source = malloc(LARGEST + SHIFTS);
  arrivals = malloc(ARRIVAL_BYTES);
  if (source == NULL || arrivals == NULL) fail("memory");
  write_text(source, LARGEST + SHIFTS, rank, 0);

  static struct neighbour neighbours[NEIGHBOURS];
  create_neighbour(&neighbours[RIGHT], "mrc-right", right);
  create_neighbour(&neighbours[LEFT], "mrc-left", left);
  const int listener = tcp_listen(port + (int)rank, PATIENCE);
  neighbours[RIGHT].socket = tcp_connect("127.0.0.1", port + (int)right, PATIENCE);
  neighbours[LEFT].socket = tcp_accept(listener, PATIENCE);
  /* Of two neighbours that talk to each other, one begins with its right and one with its left. */
  const int first = rank % 2 == 0 ? RIGHT : LEFT;
  connect_neighbour(&neighbours[first]);
  connect_neighbour(&neighbours[!first]);
  for (const size_t* size = kSizes; *size != 0; ++size) run_size(neighbours, *size);
  destroy_neighbour(&neighbours[first]);
  destroy_neighbour(&neighbours[!first]);
  free(source);
  free(arrivals);
  printf("verified\n");
  return EXIT_SUCCESS;
}
