/*
 * RDMA write over libmrc as public benchmarks do it, from the installed headers alone (mrc.h and
 * infiniband/verbs.h, linked with -lmrc -libverbs). It is test and sample in one.
 *
 * The client writes, the server receives. For each size, some passes: the server posts a receive
 * without SGE and writes 8 bytes into the client's memory, which the client polls as its start
 * signal; the client keeps up to 128 writes outstanding, every 64th of them signalled, each to a
 * place of its own, since packets of different messages may arrive in any order; the last write
 * carries an immediate, whose receive completion tells that everything before it has arrived. The
 * server then checks every byte, against a pattern of pass and position and against the checksum in
 * the immediate, and that nothing was written beyond.
 *
 * Addresses are exchanged over TCP. Any error ends both sides with a non-zero exit status: the one
 * that sees it closes the connection, which the other notices wherever it is waiting.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>

#include "peer.h"

#define MAX_OUTSTANDING 128
#define SIGNAL_EVERY 64
#define MAX_SIZES 64
#define MAX_MESSAGES 1000 /* per pass */
#define PASSES 3
#define PASS_BYTES (64u << 20) /* upper bound of a pass, unless one message is longer */
#define GUARD_BYTES 4096
#define GUARD_VALUE 0xa5

struct options {
  const char* device;
  const char* host; /* NULL: server */
  int tcp_port;
  unsigned timeout_seconds;
  size_t sizes[MAX_SIZES];
  int size_count;
};

/* What each side tells the other. */
struct peer_info {
  struct qp_address qp;
  uint64_t data_address, signal_address;
  uint32_t data_rkey, signal_rkey;
};

struct endpoint {
  struct ibv_context* verbs;
  struct mrc_context* mrc;
  struct ibv_pd* pd;
  struct mrc_cq* cq; /* one for both directions */
  struct mrc_qp* qp;
  uint8_t* data;
  size_t data_bytes;         /* without the guard behind it */
  volatile uint64_t* signal; /* [0]: written by the peer; [1]: what we write to the peer */
  struct ibv_mr* data_mr;
  struct ibv_mr* signal_mr;
  struct peer_info own, peer;
  int socket;
  double timeout_seconds;
};

/* --- The pattern ------------------------------------------------------------------------------ */

static void fill_pattern(uint8_t* data, size_t bytes, uint64_t pass) {
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = pattern_word(pass, at / sizeof word);
    memcpy(data + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word);
  }
}

static uint32_t checksum(const uint8_t* data, size_t bytes) {
  uint64_t sum = bytes;
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, data + at, bytes - at < sizeof word ? bytes - at : sizeof word);
    sum = (sum ^ word) * 0x100000001b3u;
    sum ^= sum >> 29;
  }
  return (uint32_t)(sum ^ (sum >> 32));
}

static void verify(const uint8_t* data, size_t bytes, uint64_t pass, uint32_t expected_checksum) {
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = pattern_word(pass, at / sizeof word);
    if (memcmp(data + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word) != 0) {
      fprintf(stderr, "rdma_write_bench: wrong data near byte %zu of %zu\n", at, bytes);
      fail_with(EBADMSG, "verification");
    }
  }
  for (size_t at = bytes; at < bytes + GUARD_BYTES; ++at) {
    if (data[at] != GUARD_VALUE) fail_with(EBADMSG, "bytes beyond the last write have changed");
  }
  if (checksum(data, bytes) != expected_checksum) fail_with(EBADMSG, "checksum");
}

/* --- Setting up ------------------------------------------------------------------------------- */

static struct ibv_context* open_device(const char* name) {
  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);
  if (list == NULL) fail("ibv_get_device_list");
  struct ibv_context* context = NULL;
  for (int i = 0; i < count; ++i) {
    if (strcmp(ibv_get_device_name(list[i]), name) != 0) continue;
    context = ibv_open_device(list[i]);
    if (context == NULL) fail("ibv_open_device");
  }
  ibv_free_device_list(list);
  if (context == NULL) fail_with(ENODEV, name);
  return context;
}

static void create_endpoint(struct endpoint* e, const struct options* o, size_t data_bytes) {
  memset(e, 0, sizeof *e);
  e->timeout_seconds = o->timeout_seconds;
  e->data_bytes = data_bytes;
  e->verbs = open_device(o->device);

  /* A protocol version where the version of the interface belongs, as existing programs have it. */
  struct mrc_context_attr context_attr = {.mrc_api_version_used = 1};
  e->mrc = mrc_create_context(e->verbs, &context_attr);
  if (e->mrc == NULL) fail("mrc_create_context");
  e->pd = ibv_alloc_pd(e->verbs);
  if (e->pd == NULL) fail("ibv_alloc_pd");

  e->data = malloc(data_bytes + GUARD_BYTES);
  e->signal = calloc(2, sizeof *e->signal);
  if (e->data == NULL || e->signal == NULL) fail("malloc");
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING;
  e->data_mr = ibv_reg_mr(e->pd, e->data, data_bytes + GUARD_BYTES, access);
  e->signal_mr = ibv_reg_mr(e->pd, (void*)e->signal, 2 * sizeof *e->signal,
                            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (e->data_mr == NULL || e->signal_mr == NULL) fail("ibv_reg_mr");

  e->cq = mrc_create_cq(e->mrc, 2 * MAX_OUTSTANDING, NULL, NULL, 0);
  if (e->cq == NULL) fail("mrc_create_cq");
  struct mrc_qp_init_attr init = {
      .send_cq = e->cq,
      .recv_cq = e->cq,
      .cap = {.max_send_wr = MAX_OUTSTANDING, .max_recv_wr = 16, .max_send_sge = 1},
      .pd = e->pd,
      .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
      .protocol_version = MRC_PROTOCOL_VERSION_1,
  };
  e->qp = mrc_create_qp(e->mrc, &init);
  if (e->qp == NULL) fail("mrc_create_qp");

  struct ibv_port_attr port;
  const int error = ibv_query_port(e->verbs, VERBS_PORT, &port);
  if (error != 0) fail_with(error, "ibv_query_port");
  if (mrc_get_qpn(e->qp, &e->own.qp.qpn) != 0) fail("mrc_get_qpn");
  if (ibv_query_gid(e->verbs, VERBS_PORT, GID_INDEX, &e->own.qp.gid) != 0) fail("ibv_query_gid");
  e->own.qp.psn = (uint32_t)(pattern_word((uint64_t)getpid(), e->own.qp.qpn) & 0xffffff);
  e->own.qp.mtu = port.active_mtu;
  e->own.data_address = (uintptr_t)e->data;
  e->own.data_rkey = e->data_mr->rkey;
  e->own.signal_address = (uintptr_t)e->signal;
  e->own.signal_rkey = e->signal_mr->rkey;
}

static void destroy_endpoint(struct endpoint* e) {
  int error = mrc_destroy_qp(e->qp);
  if (error != 0) fail_with(error, "mrc_destroy_qp");
  error = mrc_destroy_cq(e->cq);
  if (error != 0) fail_with(error, "mrc_destroy_cq");
  error = ibv_dereg_mr(e->data_mr);
  if (error == 0) error = ibv_dereg_mr(e->signal_mr);
  if (error != 0) fail_with(error, "ibv_dereg_mr");
  error = ibv_dealloc_pd(e->pd);
  if (error != 0) fail_with(error, "ibv_dealloc_pd");
  if (mrc_destroy_context(e->mrc) != 0) fail("mrc_destroy_context");
  if (ibv_close_device(e->verbs) != 0) fail("ibv_close_device");
  free(e->data);
  free((void*)e->signal);
}

/* --- Data path -------------------------------------------------------------------------------- */

/* Waits for one completion; one that is not a success ends the program. */
static struct ibv_wc wait_completion(struct endpoint* e, const char* what) {
  struct ibv_wc wc;
  const double start = seconds();
  for (unsigned spins = 0;; ++spins) {
    const int n = mrc_poll_cq(e->cq, 1, &wc);
    if (n < 0) fail("mrc_poll_cq");
    if (n == 1) break;
    if ((spins & 0xfff) == 0xfff) check_patience(e->socket, start, e->timeout_seconds, what);
  }
  if (wc.status != IBV_WC_SUCCESS) {
    fprintf(stderr, "rdma_write_bench: completion %" PRIu64 ": %s, vendor error %u\n", wc.wr_id,
            ibv_wc_status_str(wc.status), wc.vendor_err);
    fail_with(EIO, what);
  }
  return wc;
}

static void post_write(struct endpoint* e, struct ibv_send_wr* wr, uint64_t local, uint32_t length,
                       uint32_t lkey, uint64_t remote, uint32_t rkey) {
  struct ibv_sge sge = {.addr = local, .length = length, .lkey = lkey};
  struct ibv_send_wr* bad = NULL;
  wr->sg_list = &sge;
  wr->num_sge = 1;
  wr->wr.rdma.remote_addr = remote;
  wr->wr.rdma.rkey = rkey;
  const int error = mrc_post_send(e->qp, wr, &bad);
  if (error != 0) fail_with(error, "mrc_post_send");
}

/* As many messages of a size as fit a pass, each with a place of its own. */
static size_t messages_of(size_t size) {
  const size_t fitting = PASS_BYTES / size;
  if (fitting == 0) return 1;
  return fitting < MAX_MESSAGES ? fitting : MAX_MESSAGES;
}

static void send_pass(struct endpoint* e, size_t size, uint64_t pass, double* elapsed) {
  const size_t count = messages_of(size);
  fill_pattern(e->data, count * size, pass);
  const uint32_t sum = checksum(e->data, count * size);

  double start = seconds();
  for (unsigned spins = 0; e->signal[0] != pass; ++spins) {
    struct ibv_wc wc;
    /* Nothing can complete here; polling gives the library the time it may need. */
    if (mrc_poll_cq(e->cq, 1, &wc) != 0) fail_with(EPROTO, "completion before the first request");
    if ((spins & 0xfff) == 0xfff)
      check_patience(e->socket, start, e->timeout_seconds, "waiting for the start signal");
  }

  start = seconds();
  size_t posted = 0;
  size_t completed = 0;
  while (completed < count) {
    while (posted < count && posted - completed < MAX_OUTSTANDING) {
      const bool last = posted + 1 == count;
      const bool signalled = last || (posted + 1) % SIGNAL_EVERY == 0;
      struct ibv_send_wr wr = {
          .wr_id = posted,
          .opcode = last ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
          .send_flags = signalled ? IBV_SEND_SIGNALED : 0,
          .imm_data = last ? htonl(sum) : 0,
      };
      const size_t at = posted * size;
      post_write(e, &wr, (uintptr_t)e->data + at, (uint32_t)size, e->data_mr->lkey,
                 e->peer.data_address + at, e->peer.data_rkey);
      ++posted;
    }
    const struct ibv_wc wc = wait_completion(e, "waiting for a write to complete");
    const bool in_order = wc.wr_id >= completed && wc.wr_id < posted;
    if (!in_order || wc.opcode != IBV_WC_RDMA_WRITE || wc.qp_num != e->own.qp.qpn) {
      fail_with(EPROTO, "unexpected completion of a write");
    }
    completed = (size_t)wc.wr_id + 1; /* it stands for all before it */
  }
  *elapsed += seconds() - start;
}

static void receive_pass(struct endpoint* e, size_t size, uint64_t pass) {
  const size_t count = messages_of(size);
  memset(e->data, GUARD_VALUE, count * size + GUARD_BYTES);

  struct ibv_recv_wr recv_wr = {.wr_id = pass};
  struct ibv_recv_wr* bad = NULL;
  if (mrc_post_recv(e->qp, &recv_wr, &bad) != 0) fail("mrc_post_recv");
  e->signal[1] = pass;
  struct ibv_send_wr start = {
      .wr_id = pass, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
  post_write(e, &start, (uintptr_t)&e->signal[1], sizeof e->signal[1], e->signal_mr->lkey,
             e->peer.signal_address, e->peer.signal_rkey);

  /* Both directions complete in one CQ: the start signal, then or first the immediate. */
  uint32_t sum = 0;
  for (int outstanding = 2; outstanding > 0; --outstanding) {
    const struct ibv_wc wc = wait_completion(e, "waiting for the immediate");
    if (wc.wr_id != pass || wc.qp_num != e->own.qp.qpn) fail_with(EPROTO, "unexpected completion");
    if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM) continue;
    if (wc.byte_len != size || !(wc.wc_flags & IBV_WC_WITH_IMM) || wc.src_qp != e->peer.qp.qpn) {
      fail_with(EPROTO, "receive completion");
    }
    sum = ntohl(wc.imm_data);
  }
  verify(e->data, count * size, pass, sum);
}

/* --- Command line ----------------------------------------------------------------------------- */

static void usage(void) {
  fputs(
      "Usage: rdma_write_bench [OPTIONS] server\n"
      "       rdma_write_bench [OPTIONS] client HOST\n"
      "  --device NAME    verbs device (mrc0)\n"
      "  --port PORT      TCP port for the exchange of addresses (18515)\n"
      "  --sizes LIST     message sizes, separated by commas, with suffix K or M (1,8,4K,64K,1M)\n"
      "  --timeout S      patience, in seconds, with anything the peer does (30)\n",
      stderr);
  exit(EXIT_FAILURE);
}

static void parse_sizes(struct options* o, const char* list) {
  o->size_count = 0;
  for (const char* at = list;; ++at) {
    char* end;
    unsigned long long size = strtoull(at, &end, 10);
    if (*end == 'K' || *end == 'M') size <<= *end++ == 'K' ? 10 : 20;
    if (end == at || size == 0 || size > UINT32_MAX || o->size_count == MAX_SIZES) usage();
    o->sizes[o->size_count++] = (size_t)size;
    at = end;
    if (*at == '\0') return;
    if (*at != ',') usage();
  }
}

static struct options parse_options(int argc, char** argv) {
  static const struct option kOptions[] = {{"device", required_argument, NULL, 'd'},
                                           {"port", required_argument, NULL, 'p'},
                                           {"sizes", required_argument, NULL, 's'},
                                           {"timeout", required_argument, NULL, 't'},
                                           {NULL, 0, NULL, 0}};
  struct options o = {.device = "mrc0", .tcp_port = 18515, .timeout_seconds = 30};
  parse_sizes(&o, "1,8,4K,64K,1M");
  for (int c; (c = getopt_long(argc, argv, "", kOptions, NULL)) != -1;) {
    switch (c) {
      case 'd':
        o.device = optarg;
        break;
      case 'p':
        o.tcp_port = atoi(optarg);
        break;
      case 's':
        parse_sizes(&o, optarg);
        break;
      case 't':
        o.timeout_seconds = (unsigned)strtoul(optarg, NULL, 10);
        break;
      default:
        usage();
    }
  }
  const int words = argc - optind;
  if (words == 2 && strcmp(argv[optind], "client") == 0) {
    o.host = argv[optind + 1];
  } else if (words != 1 || strcmp(argv[optind], "server") != 0) {
    usage();
  }
  return o;
}

int main(int argc, char** argv) {
  const struct options o = parse_options(argc, argv);
  const bool client = o.host != NULL;

  size_t data_bytes = 0;
  for (int i = 0; i < o.size_count; ++i) {
    const size_t bytes = messages_of(o.sizes[i]) * o.sizes[i];
    if (bytes > data_bytes) data_bytes = bytes;
  }
  alarm(2 * o.timeout_seconds + 1);
  struct endpoint e;
  create_endpoint(&e, &o, data_bytes);
  e.socket = client ? tcp_connect(o.host, o.tcp_port, o.timeout_seconds)
                    : tcp_accept(tcp_listen(o.tcp_port, o.timeout_seconds), o.timeout_seconds);
  exchange(e.socket, &e.own, &e.peer, sizeof e.own, "exchanging addresses");
  connect_qp(mrc_modify_qp, e.qp, &e.own.qp, &e.peer.qp);
  /* No packet may reach a QP that is not ready to receive. */
  uint32_t ready = (uint32_t)o.size_count;
  uint32_t peer_ready = 0;
  exchange(e.socket, &ready, &peer_ready, sizeof ready, "waiting for the peer's QP");
  if (peer_ready != ready) fail_with(EINVAL, "the peer was given other sizes");

  if (client) printf("%12s %12s %12s\n", "bytes", "messages", "MB/s");
  uint64_t pass = 0;
  for (int i = 0; i < o.size_count; ++i) {
    const size_t size = o.sizes[i];
    double elapsed = 0;
    for (int n = 0; n < PASSES; ++n) {
      ++pass;
      alarm(2 * o.timeout_seconds + 1); /* kills us, should a call of the library never return */
      if (client) {
        send_pass(&e, size, pass, &elapsed);
      } else {
        receive_pass(&e, size, pass);
      }
    }
    if (client) {
      const double bytes = (double)(PASSES * messages_of(size)) * (double)size;
      printf("%12zu %12zu %12.2f\n", size, PASSES * messages_of(size), bytes / elapsed * 1e-6);
    }
  }
  /* Each side says that it is content; the QPs stay until both have said so. */
  uint64_t peer_pass = 0;
  exchange(e.socket, &pass, &peer_pass, sizeof pass, "waiting for the peer's verdict");
  if (peer_pass != pass) fail_with(EPROTO, "the peer has seen another number of passes");
  destroy_endpoint(&e);
  close(e.socket);
  if (!client) printf("%" PRIu64 " passes verified\n", pass);
  return EXIT_SUCCESS;
}
