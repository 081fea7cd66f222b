// p4rack_reduce.h for C++17: errors are exceptions, and a group is closed by its destructor.
//
//   p4rack::Group group("out/counts.group.json", rank, "10.0.0.1:9600");
//   for (auto &[word, count] : counts) group.push(word, count);
//   for (auto &[word, sum] : group.reduce_texts()) ...
#ifndef P4RACK_REDUCE_HPP
#define P4RACK_REDUCE_HPP

#include "p4rack_reduce.h"

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace p4rack {

class Error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Group {
  public:
    Group(const std::string &plan, uint32_t rank, const std::string &root, double timeout = 300) {
        char why[1024] = "";
        group.reset(p4r_open(plan.c_str(), rank, root.c_str(), timeout, why, sizeof why));
        if (!group) throw Error(why);
    }

    uint32_t rank() const { return p4r_rank(group.get()); }
    uint32_t size() const { return p4r_size(group.get()); }
    struct p4r_report report() const { return ::p4r_report(group.get()); }

    void allreduce(std::vector<int32_t> &values, int op = P4R_ADD) {
        check(p4r_allreduce_i32(group.get(), values.data(), values.size(), op));
    }
    void allreduce(std::vector<uint32_t> &values, int op = P4R_ADD) {
        check(p4r_allreduce_u32(group.get(), values.data(), values.size(), op));
    }
    void allreduce(std::vector<int64_t> &values, int op = P4R_ADD) {
        check(p4r_allreduce_i64(group.get(), values.data(), values.size(), op));
    }
    void allreduce(std::vector<uint64_t> &values, int op = P4R_ADD) {
        check(p4r_allreduce_u64(group.get(), values.data(), values.size(), op));
    }

    void push(uint64_t key, int64_t value) { check(p4r_push(group.get(), &key, &value, 1)); }
    void push(std::string_view key, int64_t value) {
        check(p4r_push_text(group.get(), key.data(), key.size(), value));
    }

    std::map<uint64_t, int64_t> reduce(int op = P4R_ADD) {
        p4r_pairs pairs = fold(op);
        std::map<uint64_t, int64_t> found;
        for (size_t at = 0; pairs.keys && at < pairs.n; at++) found[pairs.keys[at]] = pairs.values[at];
        return found;
    }

    std::map<std::string, int64_t> reduce_texts(int op = P4R_ADD) {
        p4r_pairs pairs = fold(op);
        std::map<std::string, int64_t> found;
        const char *text = pairs.texts;
        for (size_t at = 0; text && at < pairs.n; text += pairs.lengths[at++])
            found[std::string(text, pairs.lengths[at])] = pairs.values[at];
        return found;
    }

  private:
    struct Close {
        void operator()(p4r_group *open) const { p4r_close(open); }
    };
    std::unique_ptr<p4r_group, Close> group;

    void check(int result) const {
        if (result != 0) throw Error(p4r_error(group.get()));
    }
    p4r_pairs fold(int op) {
        p4r_pairs pairs = {};
        check(p4r_reduce(group.get(), op, &pairs));
        return pairs;
    }
};

}  // namespace p4rack
#endif
