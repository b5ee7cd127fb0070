// Lists of QPs that want something, linked through the QPs themselves: joining, leaving and being
// asked are O(1) and allocate nothing. A QP is on each list at most once.
#pragma once

#include <cassert>
#include <cstddef>

namespace softmrc::transport {

struct Qp;

struct QpLink {
  Qp* next = nullptr;
  Qp* previous = nullptr;
  bool listed = false;
};

// First in, first out. `Link` is the member of Qp that this list uses; no two lists that a QP may
// be on at once share one.
template <auto Link>
class QpList {
 public:
  QpList() = default;
  QpList(const QpList&) = delete;
  QpList& operator=(const QpList&) = delete;

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  Qp& front() const {
    assert(first_ != nullptr);
    return *first_;
  }
  // Does nothing if the QP is on the list.
  void push_back(Qp& qp) {
    QpLink& link = qp.*Link;
    if (link.listed) return;
    link = {nullptr, last_, true};
    (last_ != nullptr ? (last_->*Link).next : first_) = &qp;
    last_ = &qp;
    ++size_;
  }
  Qp& pop_front() {
    Qp& qp = front();
    erase(qp);
    return qp;
  }
  // Does nothing if the QP is not on the list.
  void erase(Qp& qp) {
    QpLink& link = qp.*Link;
    if (!link.listed) return;
    (link.previous != nullptr ? (link.previous->*Link).next : first_) = link.next;
    (link.next != nullptr ? (link.next->*Link).previous : last_) = link.previous;
    link = {};
    --size_;
  }

 private:
  Qp* first_ = nullptr;
  Qp* last_ = nullptr;
  size_t size_ = 0;
};

}  // namespace softmrc::transport
