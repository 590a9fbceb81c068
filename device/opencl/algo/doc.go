// Package algo holds the algorithms that sort keys in the memory of an OpenCL device: the kernels, one .cl file
// each, and the driver of each, which builds its kernels, computes its launches and runs its passes.
//
// Only the root package of this module is stable: this package may change in any version.
//
// All of them sort the same Data in place and stably, by a range of the key's bits, so that keys of several words
// can be sorted word by word, least significant first. New makes one by name; Names lists them.
//
// # How it fits together
//
// A radix sort (radix.go) does what its methods share. It counts all digits of the keys at once (histogram.cl) and
// leaves out those that are constant. A sample is looked at first (sample.go): where it shows that all digits vary,
// nobody waits for the histogram. 64-bit keys may need less (leading.go): where their leading bits tell most of them
// apart only those are sorted by passes, and the neighbours that tie are put in order in place (repair.cl), or, where
// they are too many after all, the passes run over all bits. A method runs the passes; those but onesweep's and
// hybrid's have one driver (counting.go):
//
//	count-scan-reorder  Harada & Howes  8 bits a pass; with DigitBits 4 the published form
//	onesweep            Adinets & Merrill  the fastest of them where rank.cl's ballots work, see Ranking
//	hybrid              Stehle & Jacobsen  by the leading bits, then each bucket in local memory, where a sample shows
//	                    the keys to be spread evenly (hybrid for keys alone, tail for pairs); else it is onesweep,
//	                    without the passes that few keys need (window.go)
//	split               Dillhoff  local buckets of DigitBits; with DigitBits 1 the form without
//	tile                Koppelman on Satish, Harris & Garland
//	binning             Intel's CM tutorial  DigitBits 2 or 4
//
// selection and selection-blocks (Bainville) compare all keys with all others in one launch, for tiny chunks.
//
// Kernels are built for a variant, the types of the data, at its first use. The shape of work-groups is a geometry: the
// defines of the build and the launch both come from it, so that they cannot disagree. Scratch memory belongs to
// the sorter, all of whose commands go to one queue.
//
// Ranks are never taken from the order of atomic operations, barriers are uniform, and only onesweep waits for other
// work-groups, within bounds and with a way out.
package algo
