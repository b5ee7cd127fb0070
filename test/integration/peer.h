/*
 * What the C programs here share: ending with a message, a TCP connection to the peer over which
 * addresses are exchanged and each side notices that the other has ended, and taking a queue pair
 * to RTS. Nothing but the public headers, and no symbol of libmrc or libibverbs.
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <mrc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define GID_INDEX 3
#define VERBS_PORT 1

__attribute__((noreturn)) static inline void fail(const char* what) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
  exit(EXIT_FAILURE); /* closes the connections: the peers fail too */
}

__attribute__((noreturn)) static inline void fail_with(int error, const char* what) {
  errno = error;
  fail(what);
}

static inline double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Bytes that nobody would guess, the same on both sides: word `index` of the text called `text`. */
static inline uint64_t pattern_word(uint64_t text, uint64_t index) {
  uint64_t z = index * 0x9e3779b97f4a7c15u + text * 0xbf58476d1ce4e5b9u + 1;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* --- TCP -------------------------------------------------------------------------------------- */

static inline void set_socket_timeout(int fd, unsigned timeout_seconds) {
  const struct timeval timeout = {(time_t)timeout_seconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

static inline int tcp_listen(int port, unsigned timeout_seconds) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0) fail("socket");
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  set_socket_timeout(listener, timeout_seconds);
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons((uint16_t)port);
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  if (bind(listener, (struct sockaddr*)&address, sizeof address) != 0) fail("bind");
  if (listen(listener, 1) != 0) fail("listen");
  return listener;
}

/* One connection; the listener is closed. */
static inline int tcp_accept(int listener, unsigned timeout_seconds) {
  const int connection = accept(listener, NULL, NULL);
  if (connection < 0) fail("waiting for the peer to connect");
  close(listener);
  set_socket_timeout(connection, timeout_seconds);
  return connection;
}

/* The peer may be started later: tries until the time is over. */
static inline int tcp_connect(const char* host, int port, unsigned timeout_seconds) {
  struct addrinfo hints;
  memset(&hints, 0, sizeof hints);
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  struct addrinfo* address;
  char service[8];
  snprintf(service, sizeof service, "%d", port);
  if (getaddrinfo(host, service, &hints, &address) != 0) fail_with(EHOSTUNREACH, host);
  const double start = seconds();
  for (;;) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) fail("socket");
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0) {
      freeaddrinfo(address);
      set_socket_timeout(fd, timeout_seconds);
      return fd;
    }
    if (seconds() - start > timeout_seconds) fail("connecting to the peer");
    close(fd);
    usleep(50 * 1000);
  }
}

static inline void exchange(int fd, const void* own, void* peer, size_t bytes, const char* what) {
  if (send(fd, own, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) fail(what);
  const ssize_t received = recv(fd, peer, bytes, MSG_WAITALL);
  if (received < 0) fail(what);
  if (received != (ssize_t)bytes) fail_with(ECONNRESET, what);
}

/* Called while waiting, since a point in time, for something that the peer does: ends this side
 * when the peer has ended, or when patience does. */
static inline void check_patience(int socket, double since, double patience, const char* what) {
  char byte;
  const ssize_t n = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN)) fail_with(ECONNRESET, what);
  if (seconds() - since > patience) fail_with(ETIMEDOUT, what);
}

/* --- Queue pairs ------------------------------------------------------------------------------ */

/* What each side tells the other about a queue pair. */
struct qp_address {
  uint32_t qpn, psn;
  enum ibv_mtu mtu;
  union ibv_gid gid;
};

typedef __typeof__(mrc_modify_qp) modify_qp_fn;

/* RESET to RTS, with what existing programs give. */
static inline void connect_qp(modify_qp_fn* modify, struct mrc_qp* qp, const struct qp_address* own,
                              const struct qp_address* peer) {
  struct ibv_qp_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.qp_state = IBV_QPS_INIT;
  attr.pkey_index = 0;
  attr.port_num = VERBS_PORT;
  attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  int error = modify(qp, &attr,
                     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, NULL, 0);
  if (error != 0) fail_with(error, "mrc_modify_qp to INIT");

  memset(&attr, 0, sizeof attr);
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = own->mtu < peer->mtu ? own->mtu : peer->mtu;
  attr.dest_qp_num = peer->qpn;
  attr.rq_psn = peer->psn;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = VERBS_PORT;
  attr.ah_attr.grh.dgid = peer->gid;
  attr.ah_attr.grh.sgid_index = GID_INDEX;
  attr.ah_attr.grh.hop_limit = 64;
  struct mrc_qp_attr defaults;
  memset(&defaults, 0, sizeof defaults);
  error = modify(qp, &attr,
                 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                 &defaults, 0);
  if (error != 0) fail_with(error, "mrc_modify_qp to RTR");

  memset(&attr, 0, sizeof attr);
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = own->psn;
  attr.timeout = 14;
  attr.retry_cnt = 10; /* above what three bits hold: counts as 7 */
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 1;
  error = modify(qp, &attr,
                 IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
                 NULL, 0);
  if (error != 0) fail_with(error, "mrc_modify_qp to RTS");
}
