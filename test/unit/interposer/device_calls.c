/*
 * The calls of libibverbs on one of our devices, as a C program makes them under mrc-run: found by
 * name, opened, queried by the exported functions and by those inline in the header, protection
 * domains and memory regions good and bad, completion queues and queue pairs, classic and extended,
 * and what does not exist refused at once with EOPNOTSUPP. Usage: device_calls DEVICE
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

/* NULL and EOPNOTSUPP. Evaluates the call once. */
#define CHECK_REFUSED(call)                    \
  do {                                         \
    errno = 0;                                 \
    const void* const refused_object = (call); \
    CHECK(refused_object == NULL);             \
    CHECK(errno == EOPNOTSUPP);                \
  } while (0)

static struct ibv_device** find(const char* name, struct ibv_device** device) {
  int count = 0;
  struct ibv_device** const list = ibv_get_device_list(&count);
  CHECK(list != NULL);
  if (list == NULL) return NULL;
  int found = 0;
  int entries = 0;
  for (; list[entries] != NULL; ++entries) {
    if (strcmp(ibv_get_device_name(list[entries]), name) != 0) continue;
    *device = list[entries];
    ++found;
  }
  CHECK(found == 1);
  CHECK(entries == count);
  CHECK(count > 0 && list[count - 1] == *device); /* real devices stand before ours */
  return list;
}

static void check_versions(void) {
  Dl_info info = {0};
  void* const symbol = dlvsym(RTLD_DEFAULT, "ibv_open_device", "IBVERBS_1.1");
  CHECK(symbol != NULL && dladdr(symbol, &info) != 0);
  CHECK(info.dli_fname != NULL && strstr(info.dli_fname, "libmrc-verbs.so") != NULL);
}

static int check_device(struct ibv_context* context, struct ibv_device* device) {
  struct ibv_device_attr attr;
  CHECK(ibv_query_device(context, &attr) == 0);
  CHECK(attr.node_guid != 0 && attr.node_guid == ibv_get_device_guid(device));
  CHECK(attr.vendor_id == 0); /* nobody's hardware */
  CHECK(attr.vendor_part_id != 0);
  CHECK(attr.phys_port_cnt >= 1);
  CHECK(attr.max_qp_rd_atom == 1);
  CHECK(attr.max_srq == 0 && attr.max_mw == 0 && attr.max_ah == 0);
  CHECK(attr.atomic_cap == IBV_ATOMIC_NONE);

  struct ibv_device_attr_ex extended;
  memset(&extended, 0xff, sizeof extended);
  CHECK(ibv_query_device_ex(context, NULL, &extended) == 0);
  CHECK(extended.orig_attr.node_guid == attr.node_guid);
  CHECK(extended.orig_attr.max_qp == attr.max_qp && extended.orig_attr.max_cqe == attr.max_cqe);
  CHECK(extended.orig_attr.phys_port_cnt == attr.phys_port_cnt);
  CHECK(extended.comp_mask == 0 && extended.odp_caps.general_caps == 0);
  CHECK(extended.phys_port_cnt_ex == attr.phys_port_cnt);
  CHECK(ibv_get_device_index(device) == -1);
  return attr.phys_port_cnt;
}

static int check_port(struct ibv_context* context, uint8_t port) {
  struct ibv_port_attr attr;
  CHECK(ibv_query_port(context, port, &attr) == 0);
  CHECK(attr.link_layer == IBV_LINK_LAYER_ETHERNET);
  CHECK(attr.gid_tbl_len >= 4);
  CHECK(attr.pkey_tbl_len == 1);
  CHECK(attr.active_mtu >= IBV_MTU_256 && attr.active_mtu <= attr.max_mtu);

  /* The exported function, which programs built against an old header call. */
  struct ibv_port_attr old;
  memset(&old, 0xee, sizeof old);
  CHECK((ibv_query_port)(context, port, (struct _compat_ibv_port_attr*)&old) == 0);
  CHECK(memcmp(&old, &attr, offsetof(struct ibv_port_attr, port_cap_flags2)) == 0);
  CHECK(old.port_cap_flags2 == 0xeeee); /* beyond the end of its structure */

  __be16 pkey = 0;
  CHECK(ibv_query_pkey(context, port, 0, &pkey) == 0 && pkey == htons(0xffff));
  CHECK(ibv_query_pkey(context, port, 1, &pkey) == -1);
  CHECK(ibv_get_pkey_index(context, port, htons(0xffff)) == 0);
  CHECK(ibv_get_pkey_index(context, port, htons(0x1234)) == -1);
  return attr.gid_tbl_len;
}

static void check_gids(struct ibv_context* context, int ports, int gids_per_port) {
  const union ibv_gid none = {.raw = {0}};
  union ibv_gid gid;
  struct ibv_gid_entry entry;
  for (int index = 0; index < gids_per_port; ++index) {
    CHECK(ibv_query_gid(context, 1, index, &gid) == 0);
    CHECK(memcmp(&gid, &none, sizeof gid) != 0); /* no holes */
    memset(&entry, 0xff, sizeof entry);
    CHECK(ibv_query_gid_ex(context, 1, (uint32_t)index, &entry, 0) == 0);
    CHECK(memcmp(&entry.gid, &gid, sizeof gid) == 0);
    CHECK(entry.gid_index == (uint32_t)index && entry.port_num == 1);
    CHECK(entry.gid_type == IBV_GID_TYPE_ROCE_V2 && entry.ndev_ifindex == 0);
  }
  CHECK(ibv_query_gid(context, 1, gids_per_port, &gid) == -1);
  CHECK(ibv_query_gid(context, 1, -1, &gid) == -1);
  CHECK(ibv_query_gid_ex(context, 1, (uint32_t)gids_per_port, &entry, 0) != 0);
  CHECK(ibv_query_gid_ex(context, 257, 0, &entry, 0) == EINVAL);
  CHECK(ibv_query_gid_ex(context, 1, 0, &entry, 1) == EOPNOTSUPP);

  const size_t total = (size_t)ports * (size_t)gids_per_port;
  CHECK(total > 0);
  if (total == 0) return;
  struct ibv_gid_entry* const table = calloc(total, sizeof *table);
  if (table == NULL) return;
  CHECK(ibv_query_gid_table(context, table, total, 0) == (ssize_t)total);
  CHECK(table[total - 1].port_num == (uint32_t)ports);
  CHECK(table[total - 1].gid_index == (uint32_t)gids_per_port - 1);
  CHECK(ibv_query_gid_table(context, table, total - 1, 0) == -EINVAL);
  free(table);
}

static void check_memory(struct ibv_context* context) {
  enum { kBytes = 1 << 20 };
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  CHECK(pd != NULL && pd->context == context);
  if (pd == NULL) return;
  char* const buffer = malloc(kBytes);
  volatile int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

  struct ibv_mr* const mr = ibv_reg_mr(pd, buffer, kBytes, IBV_ACCESS_LOCAL_WRITE);
  CHECK(mr != NULL);
  CHECK(mr->pd == pd && mr->context == context && mr->addr == buffer && mr->length == kBytes);
  /* Flags that the compiler does not know make the header call another symbol. */
  struct ibv_mr* const relaxed =
      ibv_reg_mr(pd, buffer + 3, 77, access | IBV_ACCESS_RELAXED_ORDERING);
  CHECK(relaxed != NULL && relaxed->rkey != mr->rkey && relaxed->lkey != mr->lkey);
  struct ibv_mr* const shifted =
      ibv_reg_mr_iova(pd, buffer, kBytes, 0x1000, IBV_ACCESS_LOCAL_WRITE);
  CHECK(shifted != NULL);

  /* A range of which the second page is not there, or may not be touched. */
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* const hole =
      mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(hole != MAP_FAILED);
  CHECK(mprotect(hole + page, page, PROT_NONE) == 0);
  errno = 0;
  CHECK(ibv_reg_mr(pd, hole, 2 * page, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EFAULT);
  CHECK(munmap(hole + page, page) == 0);
  errno = 0;
  CHECK(ibv_reg_mr(pd, hole, 2 * page, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EFAULT);
  errno = 0;
  CHECK(ibv_reg_mr(pd, buffer, 0, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EINVAL);
  CHECK(munmap(hole, page) == 0);

  CHECK_REFUSED(ibv_reg_dmabuf_mr(pd, 0, page, 0, -1, IBV_ACCESS_LOCAL_WRITE));
  CHECK_REFUSED(ibv_import_mr(pd, 1));
  errno = 0;
  CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) == IBV_REREG_MR_ERR_INPUT);
  CHECK(errno == EOPNOTSUPP);

  CHECK(ibv_dealloc_pd(pd) == EBUSY);
  CHECK(ibv_dereg_mr(mr) == 0);
  CHECK(ibv_dereg_mr(relaxed) == 0);
  CHECK(ibv_dereg_mr(shifted) == 0);
  CHECK(ibv_dealloc_pd(pd) == 0);
  free(buffer);
}

static void check_refusals(struct ibv_context* context) {
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  CHECK(pd != NULL);
  if (pd == NULL) return;
  struct ibv_qp_init_attr qp = {.qp_type = IBV_QPT_UD};
  struct ibv_qp_init_attr_ex qp_ex = {
      .qp_type = IBV_QPT_RC,
      .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
      .pd = pd,
      .send_ops_flags = IBV_QP_EX_WITH_RDMA_READ,
  };
  struct ibv_cq_init_attr_ex cq_ex = {.cqe = 1, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
  struct ibv_srq_init_attr srq = {.attr = {.max_wr = 1, .max_sge = 1}};
  struct ibv_srq_init_attr_ex srq_ex = {.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
                                        .srq_type = IBV_SRQT_XRC};
  struct ibv_ah_attr ah = {.port_num = 1};
  struct ibv_wc wc = {0};
  struct ibv_grh grh = {0};
  struct ibv_alloc_dm_attr dm = {.length = 64};
  struct ibv_td_init_attr td = {0};
  struct ibv_xrcd_init_attr xrcd = {0};

  CHECK_REFUSED(ibv_create_cq_ex(context, &cq_ex));
  CHECK_REFUSED(ibv_create_qp(pd, &qp));
  CHECK_REFUSED(ibv_create_qp_ex(context, &qp_ex));
  CHECK_REFUSED(ibv_create_srq(pd, &srq));
  CHECK_REFUSED(ibv_create_srq_ex(context, &srq_ex));
  CHECK_REFUSED(ibv_create_ah(pd, &ah));
  CHECK_REFUSED(ibv_create_ah_from_wc(pd, &wc, &grh, 1));
  CHECK_REFUSED(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
  CHECK_REFUSED(ibv_alloc_dm(context, &dm));
  CHECK_REFUSED(ibv_alloc_null_mr(pd));
  CHECK_REFUSED(ibv_alloc_td(context, &td));
  CHECK_REFUSED(ibv_open_xrcd(context, &xrcd));
  CHECK_REFUSED(ibv_import_pd(context, 1));
  CHECK_REFUSED(ibv_import_dm(context, 1));
  errno = 0;
  CHECK(ibv_init_ah_from_wc(context, 1, &wc, &grh, &ah) == -1 && errno == EOPNOTSUPP);
  uint8_t mac[ETHERNET_LL_SIZE];
  uint16_t vlan;
  CHECK(ibv_resolve_eth_l2_from_gid(context, &ah, mac, &vlan) == EOPNOTSUPP);
  CHECK(ibv_dealloc_pd(pd) == 0);
}

static void to_init(struct ibv_qp* qp) {
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  CHECK(ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS) == 0);
  CHECK(qp->state == IBV_QPS_INIT);
}

static void check_classic(struct ibv_context* context) {
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  CHECK(channel != NULL && channel->context == context);
  if (pd == NULL || channel == NULL) return;
  CHECK(fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0);
  struct ibv_cq* const cq = ibv_create_cq(context, 10, &failures, channel, 0);
  CHECK(cq != NULL && cq->cqe >= 10 && cq->channel == channel);
  CHECK(ibv_create_cq(context, 10, NULL, NULL, context->num_comp_vectors) == NULL);
  if (cq == NULL) return;
  CHECK(ibv_destroy_comp_channel(channel) == EBUSY);
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .cap = {.max_send_wr = 5, .max_recv_wr = 5, .max_send_sge = 1},
                                  .qp_type = IBV_QPT_RC};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  CHECK(qp != NULL && qp->state == IBV_QPS_RESET && init.cap.max_send_wr >= 5);
  if (qp == NULL) return;
  CHECK(ibv_destroy_cq(cq) == EBUSY);
  CHECK(ibv_dealloc_pd(pd) == EBUSY);
  to_init(qp);
  struct ibv_qp_attr attr;
  struct ibv_qp_init_attr told;
  CHECK(ibv_query_qp(qp, &attr, IBV_QP_STATE, &told) == 0);
  CHECK(attr.qp_state == IBV_QPS_INIT && told.send_cq == cq && told.qp_type == IBV_QPT_RC);
  struct ibv_send_wr read = {.opcode = IBV_WR_RDMA_READ};
  struct ibv_send_wr* bad = NULL;
  CHECK(ibv_post_send(qp, &read, &bad) == EINVAL && bad == &read); /* not yet in RTS */
  attr.qp_state = IBV_QPS_ERR;
  CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
  CHECK(ibv_post_send(qp, &read, &bad) == EINVAL && bad == &read); /* no reads */
  struct ibv_send_wr write = {.wr_id = 3, .opcode = IBV_WR_RDMA_WRITE};
  CHECK(ibv_req_notify_cq(cq, 0) == 0);
  CHECK(ibv_post_send(qp, &write, &bad) == 0);
  struct ibv_wc wc = {0};
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
  }
  CHECK(wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 3 && wc.qp_num == qp->qp_num);
  struct ibv_cq* of = NULL;
  void* user = NULL;
  CHECK(ibv_get_cq_event(channel, &of, &user) == 0 && of == cq && user == &failures);
  ibv_ack_cq_events(cq, 1);
  CHECK(ibv_get_cq_event(channel, &of, &user) == -1 && errno == EAGAIN);
  CHECK(ibv_qp_to_qp_ex(qp) == NULL);
  CHECK(ibv_destroy_qp(qp) == 0);
  CHECK(ibv_destroy_cq(cq) == 0);
  CHECK(ibv_destroy_comp_channel(channel) == 0);
  CHECK(ibv_dealloc_pd(pd) == 0);
}

static void check_extended(struct ibv_context* context) {
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_cq_init_attr_ex cq_init = {.cqe = 10, .wc_flags = IBV_WC_STANDARD_FLAGS};
  struct ibv_cq_ex* const cq = ibv_create_cq_ex(context, &cq_init);
  CHECK(pd != NULL && cq != NULL);
  if (pd == NULL || cq == NULL) return;
  struct ibv_qp_init_attr_ex init = {
      .send_cq = ibv_cq_ex_to_cq(cq),
      .recv_cq = ibv_cq_ex_to_cq(cq),
      .cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 2, .max_inline_data = 32},
      .qp_type = IBV_QPT_RC,
      .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
      .pd = pd,
      .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
  };
  struct ibv_qp* const qp = ibv_create_qp_ex(context, &init);
  struct ibv_qp_ex* const ex = qp == NULL ? NULL : ibv_qp_to_qp_ex(qp);
  CHECK(ex != NULL);
  if (ex == NULL) return;
  to_init(qp);
  ibv_wr_start(ex);
  ibv_wr_rdma_write(ex, 1, 0);
  CHECK(ibv_wr_complete(ex) == EINVAL); /* not yet in RTS */
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
  CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
  /* A batch whose second request is wrong: nothing of it is posted; nor of one that is given up. */
  char data[64] = "inline";
  ibv_wr_start(ex);
  ex->wr_id = 1;
  ibv_wr_rdma_write(ex, 1, 0);
  ibv_wr_set_inline_data(ex, data, 8);
  ex->wr_id = 2;
  ibv_wr_rdma_write_imm(ex, 1, 0, 0);
  ibv_wr_set_inline_data(ex, data, sizeof data);
  CHECK(ibv_wr_complete(ex) == EINVAL);
  ibv_wr_start(ex);
  ibv_wr_rdma_write(ex, 1, 0);
  ibv_wr_abort(ex);
  struct ibv_poll_cq_attr poll = {0};
  CHECK(ibv_start_poll(cq, &poll) == ENOENT);
  /* More than the queue holds: nothing is posted either. */
  ibv_wr_start(ex);
  for (int i = 0; i < 5; ++i) ibv_wr_rdma_write(ex, 1, 0);
  CHECK(ibv_wr_complete(ex) == ENOMEM);
  ibv_wr_start(ex);
  for (uint64_t id = 10; id < 13; ++id) {
    ex->wr_id = id;
    ibv_wr_rdma_write(ex, 1, 0);
    ibv_wr_set_inline_data(ex, data, 8);
  }
  CHECK(ibv_wr_complete(ex) == 0);
  int polled;
  while ((polled = ibv_start_poll(cq, &poll)) == ENOENT) {
  }
  CHECK(polled == 0);
  for (uint64_t id = 10; id < 13; ++id) {
    CHECK(cq->wr_id == id && cq->status == IBV_WC_WR_FLUSH_ERR);
    CHECK(ibv_wc_read_qp_num(cq) == qp->qp_num);
    CHECK(ibv_wc_read_opcode(cq) == IBV_WC_RDMA_WRITE);
    CHECK(ibv_next_poll(cq) == (id < 12 ? 0 : ENOENT));
  }
  ibv_end_poll(cq);
  CHECK(ibv_destroy_qp(qp) == 0);
  CHECK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0);
  CHECK(ibv_dealloc_pd(pd) == 0);
}

static void check_async_events(struct ibv_context* context) {
  CHECK(context->async_fd >= 0);
  CHECK(fcntl(context->async_fd, F_SETFL, O_NONBLOCK) == 0);
  struct ibv_async_event event;
  errno = 0;
  CHECK(ibv_get_async_event(context, &event) == -1 && errno == EAGAIN);
}

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_FAILURE;
  check_versions();
  struct ibv_device* device = NULL;
  struct ibv_device** const list = find(argv[1], &device);
  if (device == NULL) return EXIT_FAILURE;
  /* Opened twice, and once more after it was closed. */
  for (int round = 0; round < 2; ++round) {
    struct ibv_context* const context = ibv_open_device(device);
    CHECK(context != NULL);
    if (context == NULL) return EXIT_FAILURE;
    struct ibv_context* const second = ibv_open_device(device);
    CHECK(second != NULL && second->device == device);
    const int ports = check_device(context, device);
    int gids = 0;
    for (int port = 1; port <= ports; ++port) gids = check_port(context, (uint8_t)port);
    struct ibv_port_attr port_attr;
    CHECK(ibv_query_port(context, 0, &port_attr) != 0);
    CHECK(ibv_query_port(context, (uint8_t)(ports + 1), &port_attr) != 0);
    check_gids(context, ports, gids);
    check_memory(second);
    check_refusals(context);
    check_classic(context);
    check_extended(context);
    check_async_events(context);
    if (second != NULL) CHECK(ibv_close_device(second) == 0);
    check_memory(context);
    CHECK(ibv_close_device(context) == 0);
  }
  ibv_free_device_list(list);
  if (failures == 0) printf("all calls as expected\n");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
