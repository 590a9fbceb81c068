// Package algo contains the algorithms that sort keys in the memory of an OpenCL device. The
// kernels of each algorithm are in one .cl file. The Go code builds the kernels, computes their
// launches and runs the passes.
//
// Only the root package of this module is stable: this package may change in any version.
//
// All of them sort the same Data in place and stably, by a range of the key's bits. So keys of
// several words can be sorted word by word, least significant first. New creates a sorter by
// name; Names lists the algorithms.
//
// # Structure
//
// Type radix (radix.go) contains the common part of the radix sorts. It counts all digits of the
// keys at once (histogram.cl) and skips the constant digits. It reads a sample first (sample.go):
// if the sample shows that all digits vary, the host does not wait for the histogram.
//
// 64-bit keys may need fewer passes (leading.go). If their leading bits distinguish most of them,
// only these bits are sorted, and neighbors with equal leading bits are put in order in place
// (repair.cl). If there are too many of them, the passes run over all bits.
//
// A method runs the passes. All methods except onesweep and hybrid share one driver
// (counting.go):
//
//	count-scan-reorder  Harada & Howes: 8 bits per pass; with DigitBits 4, the published form
//	onesweep            Adinets & Merrill: the fastest of them if the ballots of rank.cl work,
//	                    see Ranking
//	hybrid              Stehle & Jacobsen: partitions by the leading bits, then sorts each
//	                    bucket in local memory, if a sample shows that the keys are spread
//	                    evenly (hybrid for keys alone, tail for pairs). Otherwise it is
//	                    onesweep without the passes that only few keys need (window.go).
//	split               Dillhoff: local buckets of DigitBits; with DigitBits 1, without them
//	tile                Koppelman's variant of Satish, Harris & Garland
//	binning             Intel's CM tutorial: DigitBits 2 or 4
//
// selection and selection-blocks (Bainville) compare all keys with all others in one launch, for
// tiny chunks.
//
// Kernels are built at first use for a variant, which is the types of the data. A geometry is the
// shape of work-groups. Both the defines of the build and the launch are derived from it, so they
// cannot contradict each other. Scratch memory belongs to the sorter, which sends all commands to
// one queue.
//
// Ranks never depend on the order of atomic operations, and barriers are uniform. Only onesweep
// waits for other work-groups; the wait is bounded, and the sort has a fallback.
package algo
