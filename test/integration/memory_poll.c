/*
 * A reader that polls its memory and never the library: does a flag ever show before the data it
 * announces? Writes of 8 bytes to one path MTU; every 8-byte word of write n holds n, the last one
 * is the flag. Once the reader sees n in the flag, every word must hold n.
 *
 *   memory_poll DEVICE PORT COUNT         reads; all that it calls meanwhile is send() on a socket
 *   memory_poll DEVICE PORT COUNT HOST    writes
 *   memory_poll ORDER COUNT               no device: a thread stores the words, `ascending` as the
 *                                         library promises, or `descending`, which the reader must
 *                                         find out
 *
 * Messages may arrive in any order, so each has a slot to itself until the reader gives it back, a
 * byte over TCP for every CREDIT_EVERY of them. A write seen in part, its first word there and its
 * flag not yet, proves that reader and responder were at the same slot at the same time; the reader
 * counts them, and fails if there was none.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs_end.h"

enum {
  SLOT_WORDS = 512, /* one path MTU of 4096 bytes */
  SLOT_BYTES = SLOT_WORDS * 8,
  SLOTS = 256,
  CREDIT_EVERY = 32,
  SIGNAL_EVERY = 32,
  PATIENCE_SECONDS = 30, /* with a peer that does nothing */
};

static uint64_t memory[SLOTS][SLOT_WORDS] __attribute__((aligned(4096)));

/* Payloads end where their slot ends; every power of two is as likely to be the upper bound. */
static unsigned first_word(uint64_t n) {
  uint64_t z = n * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z ^= z >> 27;
  const unsigned bound = 1u << (z % 10);
  return SLOT_WORDS - 1 - (unsigned)((z >> 8) % bound);
}

/* --- The reader ------------------------------------------------------------------------------- */

static uint64_t load(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

static void await_flag(const uint64_t* slot, uint64_t n, int tcp, uint64_t* seen_in_part) {
  const uint64_t* const flag = &slot[SLOT_WORDS - 1];
  const uint64_t* const first = &slot[first_word(n)];
  bool in_part = false;
  double start = 0;
  for (unsigned spins = 1; load(flag) != n; ++spins) {
    in_part |= load(first) == n && load(flag) != n;
    if ((spins & 0xfff) != 0) continue;
    if (start == 0) start = seconds();
    check_patience(tcp, start, PATIENCE_SECONDS, "waiting for a write");
  }
  *seen_in_part += in_part;
}

static void check_slot(const uint64_t* slot, uint64_t n) {
  const unsigned first = first_word(n);
  for (unsigned at = first; at < SLOT_WORDS; ++at) {
    if (slot[at] == n) continue;
    fprintf(stderr,
            "memory_poll: the flag of write %" PRIu64 " shows, word %u of %u holds %" PRIu64 "\n",
            n, at - first, SLOT_WORDS - first, slot[at]);
    exit(EXIT_FAILURE);
  }
  if (first > 0 && slot[first - 1] == n) give_up_with(EBADMSG, "a word before the write");
}

static void read_all(int tcp, uint64_t count) {
  uint64_t seen_in_part = 0;
  const double start = seconds();
  for (uint64_t n = 1; n <= count; ++n) {
    const uint64_t* const slot = memory[n % SLOTS];
    await_flag(slot, n, tcp, &seen_in_part);
    check_slot(slot, n);
    const char credit = 1;
    if (n % CREDIT_EVERY == 0 && send(tcp, &credit, 1, MSG_NOSIGNAL) != 1) give_up("send");
  }
  printf("%" PRIu64 " writes read in %.1f s, %" PRIu64 " of them seen in part\n", count,
         seconds() - start, seen_in_part);
  if (seen_in_part == 0) give_up_with(EPROTO, "reader and writes never met: nothing was tested");
}

/* --- The writer ------------------------------------------------------------------------------- */

struct credits {
  int tcp;
  uint64_t returned; /* writes whose slot is free again */
};

/* One at most: what follows the last is not a credit. */
static void take_credit(struct credits* c) {
  char credit;
  const ssize_t got = recv(c->tcp, &credit, 1, MSG_DONTWAIT);
  if (got == 1) c->returned += CREDIT_EVERY;
  if (got == 0 || (got < 0 && errno != EAGAIN)) give_up_with(ECONNRESET, "the reader has gone");
}

/* Polls once; up to which write the local slots are free again. */
static uint64_t take_completions(struct end* e, uint64_t completed) {
  struct ibv_wc wc[8];
  const int taken = ibv_poll_cq(e->cq, 8, wc);
  if (taken < 0) give_up("ibv_poll_cq");
  for (int i = 0; i < taken; ++i) {
    if (wc[i].status != IBV_WC_SUCCESS) give_up_with(EIO, ibv_wc_status_str(wc[i].status));
    completed = wc[i].wr_id;
  }
  return completed;
}

static void write_all(struct end* e, int tcp, uint64_t count) {
  struct credits credits = {.tcp = tcp};
  uint64_t completed = 0;
  uint64_t n = 0;
  const uint64_t last_credit = count / CREDIT_EVERY * CREDIT_EVERY;
  while (completed < count || credits.returned < last_credit) {
    while (n < count && n < completed + SLOTS && n < credits.returned + SLOTS) {
      ++n;
      const unsigned first = first_word(n);
      uint64_t* const slot = memory[n % SLOTS];
      for (unsigned at = first; at < SLOT_WORDS; ++at) slot[at] = n;
      const bool signaled = n % SIGNAL_EVERY == 0 || n == count;
      const int error = post_write(e, n, (size_t)((char*)&slot[first] - (char*)memory),
                                   (SLOT_WORDS - first) * 8, signaled ? IBV_SEND_SIGNALED : 0);
      if (error != 0) give_up_with(error, "ibv_post_send");
    }
    completed = take_completions(e, completed);
    if (credits.returned < last_credit) take_credit(&credits);
  }
}

/* --- Without a device --------------------------------------------------------------------------
 */

struct storing {
  uint64_t count;
  bool ascending;
  int socket;
};

static void store(uint64_t* word, uint64_t n) { __atomic_store_n(word, n, __ATOMIC_RELEASE); }

static void* store_all(void* argument) {
  const struct storing* const s = argument;
  struct credits credits = {.tcp = s->socket};
  for (uint64_t n = 1; n <= s->count; ++n) {
    while (n > credits.returned + SLOTS) take_credit(&credits);
    uint64_t* const slot = memory[n % SLOTS];
    const unsigned first = first_word(n);
    for (unsigned i = first; i < SLOT_WORDS; ++i) {
      store(&slot[s->ascending ? i : SLOT_WORDS - 1 - (i - first)], n);
      /* Where both threads share a core, the reader has to get in between at times. */
      if (i == first && n % 1024 == 0) sched_yield();
    }
  }
  return NULL;
}

static int run_stored(const char* order, uint64_t count) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) give_up("socketpair");
  struct storing storing = {
      .count = count, .ascending = strcmp(order, "ascending") == 0, .socket = sockets[1]};
  pthread_t thread;
  const int error = pthread_create(&thread, NULL, store_all, &storing);
  if (error != 0) give_up_with(error, "pthread_create");
  read_all(sockets[0], count);
  pthread_join(thread, NULL);
  return EXIT_SUCCESS;
}

/* --- Command line ----------------------------------------------------------------------------- */

int main(int argc, char** argv) {
  if (argc == 3) return run_stored(argv[1], strtoull(argv[2], NULL, 10));
  if (argc < 4 || argc > 5) {
    fputs("Usage: memory_poll DEVICE PORT COUNT [HOST] | ascending|descending COUNT\n", stderr);
    return EXIT_FAILURE;
  }
  const bool writes = argc == 5;
  const uint64_t count = strtoull(argv[3], NULL, 10);
  struct end e;
  open_end(&e, argv[1], memory, sizeof memory, 2 * SLOTS);
  create_qp(&e, SLOTS, 1);
  const int tcp = writes ? tcp_connect(argv[4], argv[2]) : tcp_accept(tcp_listen(argv[2]));
  connect_qp(&e, tcp, 14, 7);
  if (writes)
    write_all(&e, tcp, count);
  else
    read_all(tcp, count);

  uint64_t peer_count = 0; /* each says that it is content */
  exchange(tcp, &count, &peer_count, sizeof count);
  if (peer_count != count) give_up_with(EPROTO, "the peer was given another number of writes");
  destroy_qp(&e);
  close_end(&e);
  close(tcp);
  return EXIT_SUCCESS;
}
