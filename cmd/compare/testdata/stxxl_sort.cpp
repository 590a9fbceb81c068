// stxxl_sort TYPE FILE MEMORY SPILL sorts FILE in place with stxxl::sort, which spills to the file SPILL.
//
// TYPE is u32, u64 or gensort (100-byte records by their first 10 bytes), MEMORY a number of bytes.
#include <stdint.h>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <string>

#include <stxxl/io>
#include <stxxl/sort>
#include <stxxl/vector>

template <typename T>
struct number_order {
    bool operator()(const T& a, const T& b) const { return a < b; }
    T min_value() const { return std::numeric_limits<T>::min(); }
    T max_value() const { return std::numeric_limits<T>::max(); }
};

struct record {
    static const int size = 100, key_size = 10;
    unsigned char bytes[size];
};

struct record_order {
    bool operator()(const record& a, const record& b) const { return std::memcmp(a.bytes, b.bytes, record::key_size) < 0; }
    record min_value() const { return filled(0); }
    record max_value() const { return filled(0xFF); }
    static record filled(int byte) {
        record r;
        std::memset(r.bytes, byte, record::size);
        return r;
    }
};

// A vector that is mapped to a file needs blocks that are a multiple of the record and of the page.
template <typename T, unsigned BlockBytes, typename Order>
void sort_file(const char* path, uint64_t memory) {
    stxxl::syscall_file file(path, stxxl::file::RDWR);
    typedef typename stxxl::VECTOR_GENERATOR<T, 4, 2, BlockBytes>::result vector;
    vector records(&file);
    stxxl::sort(records.begin(), records.end(), Order(), memory);
    records.flush();
}

int main(int argc, char** argv) {
    if (argc != 5) {
        std::cerr << "usage: stxxl_sort TYPE FILE MEMORY SPILL\n";
        return 2;
    }
    const std::string type = argv[1];
    const uint64_t memory = std::strtoull(argv[3], NULL, 10);
    stxxl::disk_config spill(argv[4], 0, "syscall autogrow unlink");
    spill.direct = stxxl::disk_config::DIRECT_OFF;  // through the page cache, as all that it is compared with
    stxxl::config::get_instance()->add_disk(spill);
    if (type == "u64") sort_file<uint64_t, 2 << 20, number_order<uint64_t> >(argv[2], memory);
    else if (type == "u32") sort_file<uint32_t, 2 << 20, number_order<uint32_t> >(argv[2], memory);
    else if (type == "gensort") sort_file<record, 4096 * 500, record_order>(argv[2], memory);
    else {
        std::cerr << "stxxl_sort: unknown type " << type << "\n";
        return 2;
    }
    return 0;
}
