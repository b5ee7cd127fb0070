/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One RDMA write with immediate over libmrc, between two processes. doc/tutorial.md explains it.
 *
 *   write_imm DEVICE PORT           waits for the write and prints what it brought
 *   write_imm DEVICE PORT SERVER    connects to SERVER's TCP port PORT, and writes
 */
#include <arpa/inet.h>
#include <errno.h>
#include <mrc.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MEMORY_BYTES = 4096, VERBS_PORT = 1, GID_INDEX = 0, PATIENCE_MS = 20000 };

/* What one side has to know of the other. Both machines have one byte order. */
struct address {
  union ibv_gid gid;
  uint64_t memory;
  uint32_t rkey, qpn, psn, mtu;
};

struct endpoint {
  struct ibv_context* verbs;
  struct ibv_pd* pd;
  struct ibv_mr* mr;
  struct mrc_context* mrc;
  struct mrc_comp_channel* channel;
  struct mrc_cq* cq;
  struct mrc_qp* qp;
  struct address own, peer;
  int tcp;
  char memory[MEMORY_BYTES];
};

static void fail(const char* call) {
  fprintf(stderr, "write_imm: %s: %s\n", call, strerror(errno));
  exit(EXIT_FAILURE);
}

/* 0 is success; -1 leaves the error in errno; anything else is the error. */
static void check(int result, const char* call) {
  if (result > 0) errno = result;
  if (result != 0) fail(call);
}

static void check_made(const void* made, const char* call) {
  if (made == NULL) fail(call);
}

static struct ibv_context* open_device(const char* name) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  check_made(list, "ibv_get_device_list");
  struct ibv_device** device = list;
  while (*device != NULL && strcmp(ibv_get_device_name(*device), name) != 0) ++device;
  if (*device == NULL) {
    errno = ENODEV;
    fail(name);
  }
  struct ibv_context* context = ibv_open_device(*device);
  check_made(context, "ibv_open_device");
  ibv_free_device_list(list);
  return context;
}

static void create(struct endpoint* e, const char* device) {
  e->verbs = open_device(device);
  e->pd = ibv_alloc_pd(e->verbs);
  check_made(e->pd, "ibv_alloc_pd");
  e->mr =
      ibv_reg_mr(e->pd, e->memory, MEMORY_BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  check_made(e->mr, "ibv_reg_mr");

  struct mrc_context_attr context_attr = {.mrc_api_version_used = MRC_API_VER_USED};
  e->mrc = mrc_create_context(e->verbs, &context_attr);
  check_made(e->mrc, "mrc_create_context");
  check(mrc_create_comp_channel(e->mrc, &e->channel), "mrc_create_comp_channel");
  e->cq = mrc_create_cq(e->mrc, 16, NULL, e->channel, 0);
  check_made(e->cq, "mrc_create_cq");

  struct mrc_qp_init_attr qp_attr = {
      .send_cq = e->cq,
      .recv_cq = e->cq,
      .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1},
      .pd = e->pd,
      .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
      .protocol_version = MRC_PROTOCOL_VERSION_1,
  };
  e->qp = mrc_create_qp(e->mrc, &qp_attr);
  check_made(e->qp, "mrc_create_qp");
}

static void describe(struct endpoint* e) {
  struct ibv_port_attr port;
  check(ibv_query_port(e->verbs, VERBS_PORT, &port), "ibv_query_port");
  check(ibv_query_gid(e->verbs, VERBS_PORT, GID_INDEX, &e->own.gid), "ibv_query_gid");
  check(mrc_get_qpn(e->qp, &e->own.qpn), "mrc_get_qpn");
  e->own.memory = (uintptr_t)e->memory;
  e->own.rkey = e->mr->rkey;
  e->own.psn = (uint32_t)getpid() & 0xffffff;
  e->own.mtu = port.active_mtu;
}

static void exchange(int tcp, const void* own, void* peer, size_t bytes) {
  if (send(tcp, own, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) fail("send");
  errno = ECONNRESET; /* what a short answer means */
  if (recv(tcp, peer, bytes, MSG_WAITALL) != (ssize_t)bytes) fail("recv");
}

static void connect_qp(struct endpoint* e) {
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
  check(mrc_modify_qp(e->qp, &attr, IBV_QP_STATE, NULL, 0), "mrc_modify_qp to INIT");

  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = e->own.mtu < e->peer.mtu ? e->own.mtu : e->peer.mtu;
  attr.dest_qp_num = e->peer.qpn;
  attr.rq_psn = e->peer.psn;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = VERBS_PORT;
  attr.ah_attr.grh.dgid = e->peer.gid;
  attr.ah_attr.grh.sgid_index = GID_INDEX;
  const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  check(mrc_modify_qp(e->qp, &attr, rtr, NULL, 0), "mrc_modify_qp to RTR");

  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = e->own.psn;
  check(mrc_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, NULL, 0), "mrc_modify_qp to RTS");
}

static void post_receive(struct endpoint* e) {
  struct ibv_recv_wr wr = {.wr_id = 1};
  struct ibv_recv_wr* bad;
  check(mrc_post_recv(e->qp, &wr, &bad), "mrc_post_recv");
}

static void post_write(struct endpoint* e, uint32_t length, uint32_t immediate) {
  struct ibv_sge sge = {.addr = (uintptr_t)e->memory, .length = length, .lkey = e->mr->lkey};
  struct ibv_send_wr wr = {.wr_id = 2,
                           .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                           .send_flags = IBV_SEND_SIGNALED,
                           .sg_list = &sge,
                           .num_sge = 1,
                           .imm_data = htonl(immediate),
                           .wr.rdma = {.remote_addr = e->peer.memory, .rkey = e->peer.rkey}};
  struct ibv_send_wr* bad;
  check(mrc_post_send(e->qp, &wr, &bad), "mrc_post_send");
}

static void wait_event(struct endpoint* e) {
  struct pollfd entry = {.events = POLLIN};
  check(mrc_get_comp_channel_fd(e->channel, &entry.fd), "mrc_get_comp_channel_fd");
  errno = ETIMEDOUT; /* what 0 means */
  if (poll(&entry, 1, PATIENCE_MS) <= 0) fail("poll");
  struct mrc_cq* cq;
  void* context;
  check(mrc_get_cq_event(e->channel, &cq, &context), "mrc_get_cq_event");
  mrc_ack_cq_events(cq, 1);
}

static struct ibv_wc wait_completion(struct endpoint* e) {
  struct ibv_wc wc;
  int taken;
  while ((taken = mrc_poll_cq(e->cq, 1, &wc)) == 0) {
    check(mrc_req_notify_cq(e->cq, 0), "mrc_req_notify_cq");
    wait_event(e);
  }
  if (taken < 0) fail("mrc_poll_cq");
  if (wc.status != IBV_WC_SUCCESS) {
    fprintf(stderr, "write_imm: request %u: %s\n", (unsigned)wc.wr_id,
            ibv_wc_status_str(wc.status));
    exit(EXIT_FAILURE);
  }
  return wc;
}

static void destroy(struct endpoint* e) {
  check(mrc_destroy_qp(e->qp), "mrc_destroy_qp");
  check(mrc_destroy_cq(e->cq), "mrc_destroy_cq");
  check(mrc_destroy_comp_channel(e->channel), "mrc_destroy_comp_channel");
  check(mrc_destroy_context(e->mrc), "mrc_destroy_context");
  check(ibv_dereg_mr(e->mr), "ibv_dereg_mr");
  check(ibv_dealloc_pd(e->pd), "ibv_dealloc_pd");
  check(ibv_close_device(e->verbs), "ibv_close_device");
  close(e->tcp);
}

static int tcp_accept(uint16_t port) {
  const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0) fail("socket");
  const int yes = 1;
  check(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), "setsockopt");
  check(bind(listener, (const struct sockaddr*)&any, sizeof any), "bind");
  check(listen(listener, 1), "listen");
  const int connection = accept(listener, NULL, NULL);
  if (connection < 0) fail("accept");
  close(listener);
  return connection;
}

static int tcp_connect(const char* server, const char* port) {
  const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  struct addrinfo* found;
  if (getaddrinfo(server, port, &hints, &found) != 0) {
    errno = EHOSTUNREACH;
    fail(server);
  }
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connection < 0) fail("socket");
  check(connect(connection, found->ai_addr, found->ai_addrlen), "connect");
  freeaddrinfo(found);
  return connection;
}

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "Usage: write_imm DEVICE PORT [SERVER]\n");
    return EXIT_FAILURE;
  }
  static const char text[] = "hello over many paths";
  static struct endpoint e;
  const int writes = argc == 4;
  create(&e, argv[1]);
  describe(&e);
  e.tcp = writes ? tcp_connect(argv[3], argv[2]) : tcp_accept((uint16_t)atoi(argv[2]));
  exchange(e.tcp, &e.own, &e.peer, sizeof e.own);
  connect_qp(&e);

  if (!writes) post_receive(&e);
  char ready = 1;
  exchange(e.tcp, &ready, &ready, sizeof ready);
  if (writes) {
    memcpy(e.memory, text, sizeof text);
    post_write(&e, sizeof text, 7);
  }
  const struct ibv_wc wc = wait_completion(&e);
  if (writes)
    printf("wrote %zu bytes\n", sizeof text);
  else
    printf("received %u bytes, immediate %u: %s\n", wc.byte_len, ntohl(wc.imm_data), e.memory);

  exchange(e.tcp, &ready, &ready, sizeof ready);
  destroy(&e);
  return EXIT_SUCCESS;
}
