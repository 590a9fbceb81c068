// Times CUB's DeviceRadixSort, the radix sort that comes with CUDA, on the keys that our own benchmarks sort
// (device/opencl/algo, bench_test.go): the yardstick for a sort on an NVIDIA GPU.
//
//     nvcc -O3 -std=c++17 -arch=native cub.cu -o cub
//     ./cub 28       prints for each kind and distribution of 2^28 keys: kind, distribution, ms, G keys/s
//     ./cub 10 30 28 prints uniform keys, 2^10 to 2^30 of them, and pairs to 2^28, as `extsort bench --format json` does
//
// Each figure is the median of 9 sorts. A sort is timed between two events; making the keys is not counted.
#include <cub/cub.cuh>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t e, const char *what)
{
	if (e != cudaSuccess) {
		fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
		exit(1);
	}
}

enum Dist { UNIFORM, FEW, SHIFTED, EQUAL, ZIPF };
static const char *const names[] = {"uniform", "few", "shifted", "equal", "zipf9"};

__device__ uint64_t randomWord(uint64_t i) // splitmix64
{
	uint64_t z = (i + 1) * 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

template <class Key> __global__ void makeKeys(Key *keys, size_t n, Dist dist)
{
	size_t step = (size_t)gridDim.x * blockDim.x;
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step) {
		uint64_t r = randomWord(i);
		switch (dist) {
		case UNIFORM: keys[i] = (Key)r; break;
		case FEW: keys[i] = (Key)(r % 16); break;
		case SHIFTED: keys[i] = (Key)(sizeof(Key) == 8 ? i << 20 : i); break;
		case EQUAL: keys[i] = 42; break;
		case ZIPF: keys[i] = (Key)(uint64_t)(1 / (1e-9 + r * 0x1p-64)); break;
		}
	}
}

// medianTime is what the sort of n keys takes, in ms.
template <class Key> static double medianTime(size_t n, Dist dist, bool values)
{
	Key *keys[2];
	uint32_t *payload[2] = {nullptr, nullptr};
	for (int i = 0; i < 2; i++) {
		check(cudaMalloc(&keys[i], n * sizeof(Key)), "allocate keys");
		if (values)
			check(cudaMalloc(&payload[i], n * sizeof(uint32_t)), "allocate values");
	}
	if (values)
		makeKeys<<<4096, 256>>>(payload[0], n, UNIFORM);
	void *scratch = nullptr;
	size_t scratchBytes = 0;
	auto sort = [&] {
		cub::DoubleBuffer<Key> k(keys[0], keys[1]);
		cub::DoubleBuffer<uint32_t> v(payload[0], payload[1]);
		check(values ? cub::DeviceRadixSort::SortPairs(scratch, scratchBytes, k, v, n)
					 : cub::DeviceRadixSort::SortKeys(scratch, scratchBytes, k, n), "sort");
	};
	sort(); // tells only how much scratch memory it needs
	check(cudaMalloc(&scratch, scratchBytes), "allocate scratch");

	cudaEvent_t begin, end;
	check(cudaEventCreate(&begin), "event");
	check(cudaEventCreate(&end), "event");
	std::vector<float> times;
	for (int run = 0; run < 11; run++) {
		makeKeys<<<4096, 256>>>(keys[0], n, dist);
		cudaEventRecord(begin);
		sort();
		cudaEventRecord(end);
		check(cudaDeviceSynchronize(), "run");
		float ms;
		check(cudaEventElapsedTime(&ms, begin, end), "time");
		if (run >= 2) // the first two warm up
			times.push_back(ms);
	}
	std::sort(times.begin(), times.end());
	for (int i = 0; i < 2; i++) {
		cudaFree(keys[i]);
		cudaFree(payload[i]);
	}
	cudaFree(scratch);
	return times[times.size() / 2];
}

static const char *const kinds[] = {"u32", "u64", "u32+u32", "u64+u32"};

static double timeKind(int kind, size_t n, Dist dist)
{
	return kind % 2 ? medianTime<uint64_t>(n, dist, kind >= 2) : medianTime<uint32_t>(n, dist, kind >= 2);
}

static void bySize(int from, int keysTo, int pairsTo)
{
	printf("{\"results\": [");
	const char *separator = "";
	for (int kind = 0; kind < 4; kind++)
		for (int log2 = from; log2 <= (kind < 2 ? keysTo : pairsTo); log2++) {
			size_t n = (size_t)1 << log2;
			double ms = timeKind(kind, n, UNIFORM);
			printf("%s\n  {\"label\": \"CUB\", \"algorithm\": \"CUB\", \"key\": \"%s\", \"dist\": \"uniform\", \"records\": %zu, "
				   "\"seconds\": %.9f, \"keys_per_second\": %.0f}", separator, kinds[kind], n, ms / 1e3, n / ms * 1e3);
			separator = ",";
		}
	printf("\n]}\n");
}

static void byDistribution(int log2)
{
	size_t n = (size_t)1 << log2;
	for (int d = UNIFORM; d <= ZIPF; d++)
		for (int kind = 0; kind < 4; kind++) {
			double ms = timeKind(kind, n, (Dist)d);
			printf("cub %s %s %.3f %.2f\n", kinds[kind], names[d], ms, n / ms / 1e6);
		}
}

int main(int argc, char **argv)
{
	if (argc == 4)
		bySize(atoi(argv[1]), atoi(argv[2]), atoi(argv[3]));
	else
		byDistribution(argc > 1 ? atoi(argv[1]) : 28);
}
