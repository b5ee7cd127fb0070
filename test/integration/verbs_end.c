/* verbs_end.h says what this is for. */
#include "verbs_end.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { VERBS_PORT = 1, GID_INDEX = 3, PATIENCE_SECONDS = 30 };

void give_up(const char* what) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
  exit(EXIT_FAILURE); /* closes the connection: the peer gives up too */
}

void give_up_with(int error, const char* what) {
  errno = error;
  give_up(what);
}

static void check(int error, const char* call) {
  if (error != 0) give_up_with(error, call);
}

static void check_made(const void* made, const char* call) {
  if (made == NULL) give_up(call);
}

double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- The device ------------------------------------------------------------------------------- */

static struct ibv_context* open_device(const char* name) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  check_made(list, "ibv_get_device_list");
  struct ibv_device** device = list;
  while (*device != NULL && strcmp(ibv_get_device_name(*device), name) != 0) ++device;
  if (*device == NULL) give_up_with(ENODEV, name);
  struct ibv_context* context = ibv_open_device(*device);
  check_made(context, "ibv_open_device");
  ibv_free_device_list(list);
  return context;
}

void open_end(struct end* e, const char* device, void* memory, size_t bytes, int cq_entries) {
  memset(e, 0, sizeof *e);
  e->verbs = open_device(device);
  e->pd = ibv_alloc_pd(e->verbs);
  check_made(e->pd, "ibv_alloc_pd");
  e->mr = ibv_reg_mr(e->pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  check_made(e->mr, "ibv_reg_mr");
  e->cq = ibv_create_cq(e->verbs, cq_entries, NULL, NULL, 0);
  check_made(e->cq, "ibv_create_cq");

  struct ibv_port_attr port;
  check(ibv_query_port(e->verbs, VERBS_PORT, &port), "ibv_query_port");
  check(ibv_query_gid(e->verbs, VERBS_PORT, GID_INDEX, &e->own.gid), "ibv_query_gid");
  e->own.memory = (uintptr_t)memory;
  e->own.rkey = e->mr->rkey;
  e->own.psn = (uint32_t)getpid() * 2654435761u & 0xffffff;
  e->own.mtu = port.active_mtu;
}

void close_end(struct end* e) {
  check(ibv_destroy_cq(e->cq), "ibv_destroy_cq");
  check(ibv_dereg_mr(e->mr), "ibv_dereg_mr");
  check(ibv_dealloc_pd(e->pd), "ibv_dealloc_pd");
  check(ibv_close_device(e->verbs), "ibv_close_device");
}

/* --- The QP ----------------------------------------------------------------------------------- */

void create_qp(struct end* e, uint32_t max_send, uint32_t max_recv) {
  struct ibv_qp_init_attr init = {
      .send_cq = e->cq,
      .recv_cq = e->cq,
      .cap = {.max_send_wr = max_send, .max_recv_wr = max_recv, .max_send_sge = 1},
      .qp_type = IBV_QPT_RC,
  };
  e->qp = ibv_create_qp(e->pd, &init);
  check_made(e->qp, "ibv_create_qp");
  e->own.qpn = e->qp->qp_num;
}

void connect_qp(struct end* e, int tcp, uint8_t timeout, uint8_t retry_count) {
  exchange(tcp, &e->own, &e->peer, sizeof e->own);

  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
                             .port_num = VERBS_PORT,
                             .qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE};
  check(ibv_modify_qp(e->qp, &init,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        "ibv_modify_qp to INIT");

  struct ibv_qp_attr rtr = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = e->own.mtu < e->peer.mtu ? e->own.mtu : e->peer.mtu,
      .dest_qp_num = e->peer.qpn,
      .rq_psn = e->peer.psn,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr = {.is_global = 1,
                  .port_num = VERBS_PORT,
                  .grh = {.dgid = e->peer.gid, .sgid_index = GID_INDEX, .hop_limit = 64}},
  };
  check(ibv_modify_qp(e->qp, &rtr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
        "ibv_modify_qp to RTR");

  struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
                            .sq_psn = e->own.psn,
                            .timeout = timeout,
                            .retry_cnt = retry_count,
                            .rnr_retry = 7,
                            .max_rd_atomic = 1};
  check(ibv_modify_qp(e->qp, &rts,
                      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                          IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
        "ibv_modify_qp to RTS");

  char ready = 1;
  exchange(tcp, &ready, &ready, sizeof ready);
}

void destroy_qp(struct end* e) { check(ibv_destroy_qp(e->qp), "ibv_destroy_qp"); }

int post_write(struct end* e, uint64_t id, size_t offset, uint32_t length, unsigned send_flags) {
  struct ibv_sge sge = {.addr = e->own.memory + offset, .length = length, .lkey = e->mr->lkey};
  struct ibv_send_wr wr = {
      .wr_id = id,
      .opcode = IBV_WR_RDMA_WRITE,
      .send_flags = send_flags,
      .sg_list = &sge,
      .num_sge = 1,
      .wr.rdma = {.remote_addr = e->peer.memory + offset, .rkey = e->peer.rkey}};
  struct ibv_send_wr* bad;
  return ibv_post_send(e->qp, &wr, &bad);
}

/* --- TCP -------------------------------------------------------------------------------------- */

static void set_patience(int fd) {
  const struct timeval timeout = {.tv_sec = PATIENCE_SECONDS};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

int tcp_listen(const char* port) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0) give_up("socket");
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  set_patience(listener);
  const struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)atoi(port)),
                                      .sin_addr.s_addr = htonl(INADDR_ANY)};
  if (bind(listener, (const struct sockaddr*)&address, sizeof address) != 0) give_up("bind");
  if (listen(listener, 1) != 0) give_up("listen");
  return listener;
}

int tcp_accept(int listener) {
  const int connection = accept(listener, NULL, NULL);
  if (connection < 0) give_up("waiting for the peer");
  set_patience(connection);
  return connection;
}

int tcp_connect(const char* host, const char* port) {
  const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  struct addrinfo* address;
  if (getaddrinfo(host, port, &hints, &address) != 0) give_up_with(EHOSTUNREACH, host);
  const double start = seconds();
  for (;;) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) give_up("socket");
    set_patience(fd);
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0) {
      freeaddrinfo(address);
      return fd;
    }
    if (seconds() - start > PATIENCE_SECONDS) give_up("connecting to the peer");
    close(fd);
    usleep(50 * 1000);
  }
}

void exchange(int tcp, const void* own, void* peer, size_t bytes) {
  if (send(tcp, own, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) give_up("telling the peer");
  const ssize_t got = recv(tcp, peer, bytes, MSG_WAITALL);
  if (got < 0) give_up("hearing from the peer");
  if (got != (ssize_t)bytes) give_up_with(ECONNRESET, "hearing from the peer");
}

void check_patience(int tcp, double since, double patience, const char* what) {
  char byte;
  const ssize_t got = recv(tcp, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN)) give_up_with(ECONNRESET, what);
  if (seconds() - since > patience) give_up_with(ETIMEDOUT, what);
}
