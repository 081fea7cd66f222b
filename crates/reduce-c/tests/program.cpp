// A program of a group. Arguments: the group's file, the address of rank 0, the rank.
#include "p4rack_reduce.hpp"

#include <cstdio>
#include <cstdlib>

#define MUST(what) \
    if (!(what)) return std::fprintf(stderr, "line %d: %s\n", __LINE__, #what), 1;

int main(int, char **words) {
    uint32_t rank = std::atoi(words[3]);
    try {
        p4rack::Group group(words[1], rank, words[2], 60);
        std::vector<uint64_t> values = {1, rank, 1ull << 40};
        group.allreduce(values);
        MUST((values == std::vector<uint64_t>{3, 3, 3ull << 40}));
        group.push(std::string("common"), 2);
        group.push("own " + std::to_string(rank), rank);
        auto counts = group.reduce_texts();
        MUST(counts.size() == 4 && counts["common"] == 6 && counts["own 2"] == 2);
        group.push(9, -1);
        MUST((group.reduce(P4R_MIN) == std::map<uint64_t, int64_t>{{9, -1}}));
        // They differ in length: an error at each rank.
        std::vector<int32_t> wrong(1 + rank, 1);
        group.allreduce(wrong);
    } catch (const p4rack::Error &error) {
        MUST(std::string(error.what()).find("different calls") != std::string::npos);
        std::puts("ok");
        return 0;
    }
    return 1;
}
