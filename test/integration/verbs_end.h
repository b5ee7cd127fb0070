/*
 * What the plain verbs programs of this folder share: a device opened by name, an RC QP to the
 * other end, and the exchange of addresses over TCP. Public headers only, as a program of somebody
 * else's has them; run under mrc-run. Any error ends the program with the call that failed.
 */
#pragma once

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

/* What one end has to know of the other. Both have one byte order. */
struct end_address {
  union ibv_gid gid;
  uint64_t memory;
  uint32_t rkey, qpn, psn, mtu;
};

struct end {
  struct ibv_context* verbs;
  struct ibv_pd* pd;
  struct ibv_mr* mr;
  struct ibv_cq* cq; /* one for both directions */
  struct ibv_qp* qp;
  struct end_address own, peer;
};

void give_up(const char* what); /* with errno */
void give_up_with(int error, const char* what);
double seconds(void); /* of a monotonic clock */

/* Opens the device and registers `memory`, for the peer to write to. */
void open_end(struct end* e, const char* device, void* memory, size_t bytes, int cq_entries);
void close_end(struct end* e); /* its QP is destroyed already */

void create_qp(struct end* e, uint32_t max_send, uint32_t max_recv);
/* Exchanges addresses, takes the QP to RTS, and returns once the peer's is there too. */
void connect_qp(struct end* e, int tcp, uint8_t timeout, uint8_t retry_count);
void destroy_qp(struct end* e);
/* From the start of the own memory to that of the peer's, at one offset. What ibv_post_send gives.
 */
int post_write(struct end* e, uint64_t id, size_t offset, uint32_t length, unsigned send_flags);

int tcp_listen(const char* port);
int tcp_accept(int listener);
int tcp_connect(const char* host, const char* port); /* tries until the server is there */
void exchange(int tcp, const void* own, void* peer, size_t bytes);
/* Called while waiting for the peer: gives up if it is gone, or after `patience` seconds. */
void check_patience(int tcp, double since, double patience, const char* what);
