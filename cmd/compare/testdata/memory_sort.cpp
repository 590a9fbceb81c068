// memory_sort TYPE IN OUT THREADS [sync] sorts the numbers of the file IN into the file OUT, all of it in memory.
//
// TYPE is u32 or u64. Each thread reads a share of the input and sorts it with the library that the program is compiled
// for: -DVQSORT Highway's vqsort, -DX86_SIMD_SORT Intel's x86-simd-sort, -DIPS2RA IPS2Ra, otherwise std::sort. Then the
// output is cut into equal parts, one a thread, and each thread merges its part of all shares block by block and writes
// the blocks. With sync the output is on the disk at the end.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#if defined(VQSORT)
#include <hwy/contrib/sort/vqsort.h>
template <typename T>
void sort_share(T* keys, size_t n) { hwy::Sorter()(keys, n, hwy::SortAscending()); }
#elif defined(X86_SIMD_SORT)
#include <x86simdsort-static-incl.h>
template <typename T>
void sort_share(T* keys, size_t n) { x86simdsortStatic::qsort(keys, n); }
#elif defined(IPS2RA)
#include <ips2ra.hpp>
template <typename T>
void sort_share(T* keys, size_t n) { ips2ra::sort(keys, keys + n); }
#else
template <typename T>
void sort_share(T* keys, size_t n) { std::sort(keys, keys + n); }
#endif

[[noreturn]] void fail(const std::string& what) {
    std::cerr << "memory_sort: " << what << ": " << std::strerror(errno) << "\n";
    std::_Exit(1);
}

const size_t huge_page = 2 << 20, block_bytes = 512 << 10;

// Memory in huge pages: with small ones the page faults take a good part of the time.
template <typename T>
T* allocate(size_t n) {
    const size_t bytes = (n * sizeof(T) + huge_page - 1) / huge_page * huge_page;
    void* memory = std::aligned_alloc(huge_page, bytes);
    if (memory == nullptr) fail("allocate");
    madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
}

// Keys in order. Behind them stands another that is not less, so that a merge need not look for the end.
template <typename T>
struct run {
    T* keys;
    size_t n;
};

// Where the first d keys of the merged runs end in a.
template <typename T>
size_t diagonal(run<T> a, run<T> b, size_t d) {
    size_t low = d > b.n ? d - b.n : 0, high = std::min(d, a.n);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (a.keys[middle] < b.keys[d - middle - 1]) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Merges two runs without branches, by four merges side by side: one alone would wait for its own last step. What is
// read past the end of a run is not less than any key of the result, so that it may stand there for an equal one. The
// largest number is left out of the merge, so that the one behind a share is never passed.
template <typename T>
void merge_two(run<T> a, run<T> b, T* out) {
    const int chains = 4;
    const T largest = std::numeric_limits<T>::max();
    const size_t all = a.n + b.n;
    a.n = std::lower_bound(a.keys, a.keys + a.n, largest) - a.keys;
    b.n = std::lower_bound(b.keys, b.keys + b.n, largest) - b.keys;
    const size_t n = a.n + b.n, step = n / chains;
    const T *left[chains], *right[chains];
    for (int c = 0; c < chains; c++) {
        const size_t cut = diagonal(a, b, c * step);
        left[c] = a.keys + cut;
        right[c] = b.keys + (c * step - cut);
    }
    const auto next = [&](int c, size_t i) {
        const T x = *left[c], y = *right[c];
        const bool from_left = x < y;
        out[c * step + i] = from_left ? x : y;
        left[c] += from_left;
        right[c] += !from_left;
    };
    for (size_t i = 0; i < step; i++)
        for (int c = 0; c < chains; c++) next(c, i);
    for (size_t i = step; i < n - (chains - 1) * step; i++) next(chains - 1, i);
    std::fill_n(out + n, all - n, largest);
}

// Moves the cuts, one in each run, forward by n keys in all, so that no key before them is greater than one behind.
template <typename T>
void advance(const std::vector<run<T>>& shares, std::vector<size_t>& cuts, size_t n) {
    std::vector<size_t> low = cuts, high(shares.size()), middle(shares.size());
    for (size_t s = 0; s < shares.size(); s++) high[s] = std::min(cuts[s] + n, shares[s].n);
    T least = 0, most = std::numeric_limits<T>::max();
    size_t wanted = n;  // keys from low on
    while (least < most) {  // the smallest key with n keys up to it is in [least, most]
        const T key = least + (most - least) / 2;
        size_t found = 0;
        for (size_t s = 0; s < shares.size(); s++) {
            T* keys = shares[s].keys;
            middle[s] = std::upper_bound(keys + low[s], keys + high[s], key) - keys;
            found += middle[s] - low[s];
        }
        if (found >= wanted) {
            most = key;
            high = middle;
        } else {
            least = key + 1;
            low = middle;
            wanted -= found;
        }
    }
    for (size_t s = 0; s < shares.size(); s++) {  // between low and high all are equal to that key
        const size_t taken = std::min(high[s] - low[s], wanted);
        cuts[s] = low[s] + taken;
        wanted -= taken;
    }
}

// Merges the runs into one, pair by pair, within the cache. The result stands in a run itself if there is only one.
template <typename T>
T* merge_all(std::vector<run<T>> runs, T* buffer, T* other) {
    while (runs.size() > 1) {
        std::vector<run<T>> merged;
        T* out = buffer;
        for (size_t r = 0; r < runs.size(); r += 2) {
            size_t n = runs[r].n;
            if (r + 1 == runs.size()) {
                std::copy_n(runs[r].keys, n, out);
            } else {
                n += runs[r + 1].n;
                merge_two(runs[r], runs[r + 1], out);
            }
            merged.push_back({out, n});
            out[n] = std::numeric_limits<T>::max();
            out += n + 1;
        }
        runs = merged;
        std::swap(buffer, other);
    }
    return runs[0].keys;
}

void read_all(int file, void* memory, size_t bytes, off_t offset) {
    for (char* p = static_cast<char*>(memory); bytes > 0;) {
        const ssize_t n = pread(file, p, std::min<size_t>(bytes, 1 << 20), offset);
        if (n <= 0) fail("read");
        p += n, bytes -= n, offset += n;
    }
}

void write_all(int file, const void* memory, size_t bytes, off_t offset) {
    for (const char* p = static_cast<const char*>(memory); bytes > 0;) {
        const ssize_t n = pwrite(file, p, bytes, offset);
        if (n <= 0) fail("write");
        p += n, bytes -= n, offset += n;
    }
}

template <typename F>
void in_parallel(size_t threads, F f) {
    std::vector<std::thread> all;
    for (size_t t = 0; t < threads; t++) all.emplace_back(f, t);
    for (std::thread& t : all) t.join();
}

// Merges the n keys that follow the cuts and writes them.
template <typename T>
void merge_part(const std::vector<run<T>>& shares, std::vector<size_t> cuts, size_t n, int out, off_t offset,
                bool sync) {
    const size_t block = block_bytes / sizeof(T), room = block + shares.size() + 1;
    T *buffer = allocate<T>(2 * room), *other = buffer + room;
    while (n > 0) {
        const size_t keys = std::min(n, block);
        const std::vector<size_t> begin = cuts;
        advance(shares, cuts, keys);
        std::vector<run<T>> runs;
        for (size_t s = 0; s < shares.size(); s++)
            if (cuts[s] > begin[s]) runs.push_back({shares[s].keys + begin[s], cuts[s] - begin[s]});
        const size_t bytes = keys * sizeof(T);
        write_all(out, merge_all(runs, buffer, other), bytes, offset);
        if (sync) sync_file_range(out, offset, bytes, SYNC_FILE_RANGE_WRITE);  // the disk begins now, not at the end
        offset += bytes;
        n -= keys;
    }
}

template <typename T>
void sort_file(int in, int out, size_t bytes, size_t threads, bool sync) {
    const size_t n = bytes / sizeof(T);
    std::vector<run<T>> shares(threads);
    const auto start = [&](size_t t) { return n / threads * t + std::min(t, n % threads); };
    in_parallel(threads, [&](size_t t) {
        const size_t keys = start(t + 1) - start(t);
        shares[t] = {allocate<T>(keys + 1), keys};
        read_all(in, shares[t].keys, keys * sizeof(T), start(t) * sizeof(T));
        sort_share(shares[t].keys, keys);
        shares[t].keys[keys] = std::numeric_limits<T>::max();
    });
    in_parallel(threads, [&](size_t t) {
        std::vector<size_t> cuts(threads);
        advance(shares, cuts, start(t));
        merge_part(shares, cuts, start(t + 1) - start(t), out, start(t) * sizeof(T), sync);
    });
}

int main(int argc, char** argv) {
    const std::string type = argc > 1 ? argv[1] : "";
    const int threads = argc > 4 ? std::atoi(argv[4]) : 0;
    const bool sync = argc == 6 && std::string(argv[5]) == "sync";
    if ((argc != 5 && !sync) || (type != "u64" && type != "u32") || threads < 1) {
        std::cerr << "usage: memory_sort u32|u64 IN OUT THREADS [sync]\n";
        return 2;
    }
    const int in = open(argv[2], O_RDONLY);
    struct stat info;
    if (in < 0 || fstat(in, &info) != 0) fail(argv[2]);
    const int out = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (out < 0) fail(argv[3]);
    (type == "u64" ? sort_file<uint64_t> : sort_file<uint32_t>)(in, out, info.st_size, threads, sync);
    if (sync && fsync(out) != 0) fail("sync");
    return 0;
}
